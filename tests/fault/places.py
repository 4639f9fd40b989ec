# SPDX-License-Identifier: Apache-2.0
def cases(suite, identity):
    return []
