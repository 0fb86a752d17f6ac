"""The registries that this machine is configured for, and policies that let a run reach them."""
import ipaddress
import pathlib
import socket
import urllib.parse

from harness import TMP, Skip, execute, need

PACKAGE = "is-number"
CA = "/etc/ssl/certs/ca-certificates.crt"


def rule(url):
    """A rule that passes connections to a registry unread; its addresses too where they are no public ones."""
    u = urllib.parse.urlsplit(url)
    port = u.port or {"http": 80, "https": 443}[u.scheme]
    try:
        found = {x[4][0] for x in socket.getaddrinfo(u.hostname, port, type=socket.SOCK_STREAM)}
    except socket.gaierror as e:
        raise Skip(f"{u.hostname} has no address: {e}") from e
    own = sorted(a for a in found if not ipaddress.ip_address(a).is_global)
    extra = ", addresses: [" + ", ".join(f"{a}/{ipaddress.ip_address(a).max_prefixlen}" for a in own) + "]" if own else ""
    return f"  - {{host: {u.hostname}, port: {port}, protocol: {'tls' if u.scheme == 'https' else 'tcp'}{extra}}}\n"


def policy(name, urls):
    path = f"{TMP}/{name}.yaml"
    pathlib.Path(path).write_text("version: 1\nnetwork:\n" + "".join(sorted({rule(u) for u in urls})))
    return path


def npm_registry():
    need("npm", "node")
    url = execute(["npm", "config", "get", "registry"], cwd=TMP, timeout=60).out.strip()
    if not url.startswith("http"):
        raise Skip("npm has no registry")
    if execute(["npm", "view", PACKAGE, "version", f"--cafile={CA}"], cwd=TMP, timeout=90).rc != 0:
        raise Skip("npm's registry is not to be reached from here")
    return url
