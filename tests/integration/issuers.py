"""Servers for the lab of tests/lab that make tokens and take them back: OAuth 2 (issuer.test), and GitHub's for an App (api.github.com,
with git at github.com); and one that takes such a token (api.test). All keys are made when the test runs. What a JWT says is
believed only where its signature is that of the App's key (openssl).

    issuer = Issuer(certificate, folder)
    issuer.client, issuer.client_secret, issuer.refresh, issuer.key     # key: the App's private key, PEM
    issuer.tokens[token]                # {"until", "revoked", "asked"}
    issuer.grace                        # so much longer (s) it takes a token than it says
    issuer.more = {"scope": "all"}      # goes into the next answers; issuer.status, issuer.seconds: of them
"""
import base64
import json
import os
import subprocess
import time
import urllib.parse

import accounts
import credentials
import lab

ISSUER, TAKER, APP, INSTALLATION = "issuer.test", "api.test", "4711", "77"


def unb64(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def bearer(request):
    return accounts.authorization(request, "bearer", "token")


def slow(server, request, body):
    time.sleep(0.25)
    accounts.mirror(server, request, body)


def held(server, request, body):
    time.sleep(int(request.path.rpartition("/")[2]))
    accounts.mirror(server, request, body)


def go(server, request, body):
    request.reply(200 if server.go else 202, "text/plain", b"x")


def stream(server, request, body):
    """What it was sent, once and again, for a few seconds."""
    request.send_response(200)
    request.send_header("Transfer-Encoding", "chunked")
    request.end_headers()
    for i in range(14):
        text = f"{i} {request.headers['Authorization']}\n".encode()
        request.wfile.write(b"%x\r\n%s\r\n" % (len(text), text))
        request.wfile.flush()
        time.sleep(0.25)
    request.wfile.write(b"0\r\n\r\n")


class Issuer(accounts.Service):
    def __init__(self, certificate, folder):
        self.client, self.client_secret, self.refresh = "belljar-test", credentials.make("odd"), credentials.make()
        made = subprocess.run(["openssl", "genrsa", "2048"], env={"PATH": lab.PATH}, capture_output=True, text=True, check=True).stdout
        self.key, self.public = made.strip(), os.path.join(folder, "app.pub")
        subprocess.run(["openssl", "rsa", "-pubout", "-out", self.public], input=made, env={"PATH": lab.PATH}, capture_output=True, text=True, check=True)
        self.tokens, self.jwts = {}, []
        self.reset()
        super().__init__(certificate, folder)
        self.apis = (
            (ISSUER, "POST", r"/token", Issuer.oauth2), (ISSUER, "POST", r"/revoke", Issuer.revoke),
            (accounts.API, "POST", rf"/app/installations/{INSTALLATION}/access_tokens", Issuer.installation),
            (accounts.API, "DELETE", r"/installation/token", Issuer.end_installation),
            (TAKER, "GET", r"/go", go), (TAKER, "GET", r"/held/.*", held), (TAKER, "GET", r"/slow/.*", slow), (TAKER, "GET", r"/stream", stream), (TAKER, "GET", r"/.*", accounts.mirror),
        ) + self.apis

    def reset(self):
        self.more, self.status, self.seconds, self.rotate, self.revokes, self.lengths, self.go, self.grace = {}, None, 3600, False, True, False, False, 0

    # ---- who asks ----

    def why_not(self, request):
        if request["host"] in (ISSUER, accounts.API) and request["path"] != "/repos/acme/tool":
            return None         # they see themselves
        if (request["host"], request["path"]) == (TAKER, "/go"):
            return None
        if request["host"] == TAKER or request["host"] in (accounts.GITHUB, accounts.API):
            shown = bearer(request) or accounts.password(request, "x-access-token")
            t = self.tokens.get(shown)
            why = "no token" if not shown else "no token of mine" if not t else "revoked" if t["revoked"] else "expired" if time.monotonic() > t["until"] else None
            if why is None:
                with self.lock:
                    during, self.during = self.during, None
                if during:
                    during()
            return why
        return super().why_not(request)

    def by_client(self, form):
        head = accounts.authorization(self.requests[-1], "basic")
        who, _, word = base64.b64decode(head).decode().partition(":") if head else (form.get("client_id", ""), "", form.get("client_secret", ""))
        if head:
            who, word = urllib.parse.unquote_plus(who), urllib.parse.unquote_plus(word)
        return who == self.client and word == self.client_secret

    def form(self):
        return dict(urllib.parse.parse_qsl(self.requests[-1]["body"].decode(), strict_parsing=True))

    def new(self, kind, asked, seconds):
        odd = "-~." * (len(self.tokens) % 4) if self.lengths else ""      # of another length and form, each of a few
        token = odd + credentials.make(kind) if kind == "word" else "ghs_" + credentials.make()[:32] + "Zz90"
        self.tokens[token] = {"until": time.monotonic() + seconds + self.grace, "revoked": False, "asked": asked}
        return token

    # ---- OAuth 2 ----

    def oauth2(self, request, _):
        form = self.form()
        if self.status:
            return request.json({"error": "temporarily_unavailable", "error_description": "not now"}, self.status)
        if not self.by_client(form):
            return request.json({"error": "invalid_client"}, 401)
        if form["grant_type"] == "refresh_token" and form.get("refresh_token") != self.refresh:
            return request.json({"error": "invalid_grant"}, 400)
        answer = {"access_token": self.new("word", form, self.seconds), "token_type": "Bearer", "expires_in": self.seconds, "scope": form.get("scope", "")} | self.more
        if form["grant_type"] == "refresh_token" and self.rotate:
            self.refresh = answer["refresh_token"] = credentials.make()
        return request.json(answer)

    def revoke(self, request, _):
        form = self.form()
        if not self.by_client(form):
            return request.json({"error": "invalid_client"}, 401)
        if not self.revokes:
            return request.json({"error": "server_error"}, 503)
        if form["token"] in self.tokens:
            self.tokens[form["token"]]["revoked"] = True
        return request.reply(200, "text/plain", b"")

    # ---- a GitHub App ----

    def claims(self, jwt):
        """What the JWT says, where the App's key has signed it."""
        head, body, signature = jwt.split(".")
        place = os.path.join(self.folder, f"signature-{len(self.jwts)}")
        with open(place, "wb") as f:
            f.write(unb64(signature))
        r = subprocess.run(["openssl", "dgst", "-sha256", "-verify", self.public, "-signature", place], input=f"{head}.{body}".encode(), env={"PATH": lab.PATH}, capture_output=True, check=False)
        claims = json.loads(unb64(body))
        self.jwts.append(claims)
        now = time.time()
        good = r.returncode == 0 and json.loads(unb64(head))["alg"] == "RS256" and claims["iss"] == APP and claims["iat"] <= now <= claims["exp"] <= now + 600
        return claims if good else None

    def installation(self, request, body):
        if self.status or not self.claims(bearer(self.requests[-1])):
            return request.json({"message": "A JSON web token could not be decoded"}, self.status or 401)
        token = self.new("github", body, self.seconds)
        until = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + self.seconds))
        return request.json({"token": token, "expires_at": until, "permissions": body["permissions"] | {"metadata": "read"}, "repository_selection": "selected",
                             "repositories": [{"id": i, "name": n, "full_name": f"acme/{n}"} for i, n in enumerate(body["repositories"])]} | self.more, 201)

    def end_installation(self, request, _):
        t = self.tokens.get(bearer(self.requests[-1]))
        if not t:
            return request.json({"message": "Bad credentials"}, 401)
        t["revoked"] = True
        return request.reply(204, "text/plain", b"")
