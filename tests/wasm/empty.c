/* SPDX-License-Identifier: Apache-2.0 */
/* Whether modules can be made at all. */
int main(void)
{
	return 0;
}
