from setuptools import setup
from setuptools.command.install import install
class I(install):
    def run(self):
        import os; os.system('%s %d' % ('a', 1))
setup(name='x', cmdclass={'install': I})
x = {'a': [1, 0x2, 0o3], **y}
𝚎𝚡𝚎𝚌(x[::-1])
print "old"
