#!/usr/bin/python3
"""Stands in for Firecracker, of which there is no package: its API and its vsock in front of QEMU.

Checks each request against the shapes of the published API schema (version 1), records it, and on
InstanceStart boots the very kernel and initrd it was given. The guest's two vsock ports are carried
by virtual serial lines, so the one thing that is changed is the word "vsock" on the command line.
Behind the native wall it sees what Firecracker would see; what it recorded is on the console.
"""
import json
import os
import socket
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler

# path → property → (type, required), from firecracker.yaml
SCHEMA = {
    "/machine-config": {"vcpu_count": (int, True), "mem_size_mib": (int, True), "smt": (bool, False)},
    "/boot-source": {"kernel_image_path": (str, True), "initrd_path": (str, False), "boot_args": (str, False)},
    "/drives/rootfs": {"drive_id": (str, True), "is_root_device": (bool, True), "path_on_host": (str, True),
                       "is_read_only": (bool, True)},
    "/vsock": {"guest_cid": (int, True), "uds_path": (str, True)},
    "/actions": {"action_type": (str, True)},
}
FAULT = ""  # "refuses" or "dies": what a test wants to go wrong
config = {}


def wrong(path, body):
    shape = SCHEMA.get(path)
    if shape is None:
        return f"no such path: {path}"
    for name, value in body.items():
        if name not in shape or type(value) is not shape[name][0]:
            return f"unknown or mistyped field `{name}`"
    missing = [n for n, (_, needed) in shape.items() if needed and n not in body]
    if missing:
        return f"missing field `{missing[0]}`"
    if path == "/machine-config" and not 1 <= body["vcpu_count"] <= 32:
        return "The vCPU number is invalid"
    if path == "/vsock" and body["guest_cid"] < 3:
        return "invalid guest_cid"
    if path == "/actions" and body["action_type"] != "InstanceStart":
        return "unknown action"
    return None


def pump(a, b):
    def one(src, dst):
        try:
            while data := src.recv(65536):
                dst.sendall(data)
        except OSError:
            pass
        for s in (src, dst):
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
    threading.Thread(target=one, args=(a, b), daemon=True).start()
    threading.Thread(target=one, args=(b, a), daemon=True).start()


def answer(conn, stream):
    """CONNECT 1024, as often as the host asks; the guest is there from the first byte it sent."""
    order = b""
    while not order.endswith(b"\n"):
        got = conn.recv(1)
        if not got:
            return False
        order += got
    if order != b"CONNECT 1024\n" or not stream.peeked:
        conn.close()
        return False
    conn.sendall(b"OK 1073741824\n")
    conn.sendall(stream.peeked)
    pump(conn, stream.sock)
    return True


class Stream:
    def __init__(self, sock):
        self.sock = sock
        self.peeked = b""

    def wait(self):
        self.peeked = self.sock.recv(1)


def serve_vsock(listener, stream):
    while True:
        conn, _ = listener.accept()
        if answer(conn, stream):
            return


def start():
    boot, machine = config["/boot-source"], config["/machine-config"]
    stream, stream_guest = socket.socketpair()
    files, files_guest = socket.socketpair()
    host = socket.socket(socket.AF_UNIX)
    host.connect(config["/vsock"]["uds_path"] + "_1025")
    pump(host, files)
    guest = Stream(stream)
    threading.Thread(target=guest.wait, daemon=True).start()
    threading.Thread(target=serve_vsock, args=(config["listener"], guest), daemon=True).start()
    disk = config.get("/drives/rootfs")
    more = ["-drive", f"if=none,id=root,format=raw,readonly=on,file={disk['path_on_host']}",
            "-device", "virtio-blk-device,drive=root"] if disk else []
    with open("/proc/cpuinfo", encoding="ascii") as f:
        mhz = next(float(line.split(":")[1]) for line in f if line.startswith("cpu MHz"))
    words = boot["boot_args"].replace("guest vsock", "guest serial").replace("reboot=k", "reboot=t")
    vm = subprocess.Popen(
        ["/usr/bin/qemu-system-x86_64", "-M", "microvm,accel=tcg,x-option-roms=off,auto-kernel-cmdline=off",
         "-cpu", "max", "-m", f"{machine['mem_size_mib']}M", "-nodefaults", "-no-user-config", "-display", "none",
         "-monitor", "none", "-no-reboot", "-kernel", boot["kernel_image_path"], "-initrd", boot["initrd_path"],
         "-append", f"{words} tsc_early_khz={int(mhz * 1000)}", "-serial", "null", "-device", "virtio-rng-device",
         "-device", "virtio-serial-device",
         "-chardev", f"socket,id=s,fd={stream_guest.fileno()}", "-device", "virtserialport,chardev=s,name=bawn.stream",
         "-chardev", f"socket,id=f,fd={files_guest.fileno()}", "-device", "virtserialport,chardev=f,name=bawn.files",
         *more],
        pass_fds=(stream_guest.fileno(), files_guest.fileno()), stdin=subprocess.DEVNULL)
    stream_guest.close()
    files_guest.close()
    threading.Thread(target=lambda: os._exit(vm.wait()), daemon=True).start()


class Api(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def address_string(self):
        return "api"

    def log_message(self, *args):
        pass

    def do_PUT(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        print("PUT", self.path, json.dumps(body, sort_keys=True), flush=True)
        fault = wrong(self.path, body)
        if FAULT == "refuses" and self.path == "/boot-source":
            fault = "The kernel file cannot be opened: not today"
        if FAULT == "dies" and self.path == "/actions":
            os._exit(1)
        if not fault:
            config[self.path] = body
            if self.path == "/vsock":
                config["listener"] = socket.socket(socket.AF_UNIX)
                config["listener"].bind(body["uds_path"])
                config["listener"].listen()
            elif self.path == "/actions":
                start()
        data = json.dumps({"fault_message": fault}).encode() if fault else b""
        self.send_response(400 if fault else 204)
        if fault:
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if data:  # who has got the answer may be gone by now
            self.wfile.write(data)


def main():
    args = sys.argv[1:]
    if args == ["--version"]:
        print("Firecracker v0.0.0-fake")
        return
    if len(args) != 4 or args[0] != "--id" or args[2] != "--api-sock":
        sys.exit(f"fake: unexpected arguments {args}")
    api = socket.socket(socket.AF_UNIX)
    api.bind(args[3])
    api.listen()
    print("ARGS", *args, flush=True)
    while True:
        conn, _ = api.accept()
        Api(conn, "api", None)


main()
