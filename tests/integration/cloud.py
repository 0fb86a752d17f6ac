"""AWS for the lab of tests/lab: STS, S3 (objects, listings, parts of objects, uploads in parts), DynamoDB and a store of its own
domain, on port 443. Each request's signature (version 4) is computed once more from the real key and what came, by code of this
file's own; what does not fit is answered as AWS does, and everything is kept.

    cloud = cloud.Cloud(certificate)
    cloud.keys                      # {access key id: Key}; make_key() adds one
    cloud.requests                  # as providers.Server has them; "refused" is why, or None, "signed" what was found out
    cloud.objects[bucket, key]      # bytes
    cloud.during = fn               # called once, with the first request that is let in, before it is answered

Standard library only.
"""
import calendar
import hashlib
import hmac
import re
import threading
import time
import typing
import urllib.parse

import credentials
import providers

REGION, OTHER_REGION, BUCKET, OTHER_BUCKET = "eu-central-1", "eu-west-1", "acme-open", "acme-other"
STS, DYNAMO, STORE = f"sts.{REGION}.amazonaws.com", f"dynamodb.{REGION}.amazonaws.com", "store.test"
S3, OTHER_S3 = f"{BUCKET}.s3.{REGION}.amazonaws.com", f"{OTHER_BUCKET}.s3.{REGION}.amazonaws.com"
HOSTS = (STS, DYNAMO, STORE, S3, OTHER_S3)
SERVICES = {STS: "sts", DYNAMO: "dynamodb", STORE: "s3", S3: "s3", OTHER_S3: "s3"}
ACCOUNT = "123456789012"
SKEW = 300      # seconds
UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
UNSIGNED = ("UNSIGNED-PAYLOAD", "STREAMING-UNSIGNED-PAYLOAD-TRAILER")


class Key(typing.NamedTuple):
    key: str
    secret: str
    session: str        # "": they are not temporary


def chance(letters, n):
    return "".join(credentials.RANDOM.choice(letters) for _ in range(n))


def make_key(temporary=False):
    """Of the real form, and another one each time."""
    mixed = credentials.WORD + "/+"
    return Key("AS" * temporary + "AK" * (not temporary) + "IA" + chance(UPPER, 16), chance(mixed, 40), chance(mixed, 400) + "==" if temporary else "")


# ---- signatures ----

def sign(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def field(request, name):
    return next((v for k, v in request["headers"].items() if k.lower() == name), "")


def canonical(request, names, payload, service):
    path, _, query = request["path"].partition("?")
    pairs = sorted(x if "=" in x else x + "=" for x in query.split("&") if x)
    fields = "".join(f"{n}:{' '.join(field(request, n).split())}\n" for n in names)
    return "\n".join((request["method"], path if service == "s3" else urllib.parse.quote(path, safe="/-_.~"), "&".join(pairs), fields, ";".join(names), payload))


def why_not(request, keys):
    """Why a request is not let in, or None; request["signed"] says what it is signed for."""
    found = re.fullmatch(r"AWS4-HMAC-SHA256 Credential=(\w+)/(\d{8})/([\w-]+)/([\w-]+)/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})", field(request, "authorization"))
    if not found:
        return "MissingAuthenticationToken"
    name, day, region, service, names, signature = found.groups()
    request["signed"] = {"key": name, "region": region, "service": service, "names": names.split(";")}
    if name not in keys:
        return "InvalidAccessKeyId"
    key, when, payload = keys[name], field(request, "x-amz-date"), field(request, "x-amz-content-sha256")
    if field(request, "x-amz-security-token") != key.session:
        return "InvalidToken"
    if (region, service) != (REGION, SERVICES.get(request["host"])) or not when.startswith(day):
        return "AuthorizationHeaderMalformed"
    if abs(calendar.timegm(time.strptime(when, "%Y%m%dT%H%M%SZ")) - time.time()) > SKEW:
        return "RequestTimeTooSkewed"
    hashed = hashlib.sha256(request["body"]).hexdigest()
    if service == "s3" and not payload:
        return "MissingSecurityHeader"
    if payload and payload not in UNSIGNED and payload != hashed:
        return "XAmzContentSHA256Mismatch"
    if {n.lower() for n in request["headers"] if n.lower().startswith("x-amz-")} - set(names.split(";")) or "host" not in names.split(";"):
        return "AccessDenied: a field is not signed"
    text = "\n".join(("AWS4-HMAC-SHA256", when, f"{day}/{region}/{service}/aws4_request",
                      hashlib.sha256(canonical(request, names.split(";"), payload or hashed, service).encode()).hexdigest()))
    signing = b"AWS4" + key.secret.encode()
    for part in (day, region, service, "aws4_request"):
        signing = sign(signing, part)
    return None if hmac.compare_digest(sign(signing, text).hex(), signature) else "SignatureDoesNotMatch"


# ---- answers ----

def sts(cloud, request, _):
    form = dict(urllib.parse.parse_qsl(cloud.now.request["body"].decode() + "&" + request.path.partition("?")[2]))
    action = form.get("Action", "")
    if action == "GetCallerIdentity":
        inner = f"<Arn>arn:aws:iam::{ACCOUNT}:user/agent</Arn><UserId>AIDA</UserId><Account>{ACCOUNT}</Account>"
    else:
        new = cloud.minted = make_key(True)
        inner = (f"<Credentials><AccessKeyId>{new.key}</AccessKeyId><SecretAccessKey>{new.secret}</SecretAccessKey><SessionToken>{new.session}</SessionToken>"
                 "<Expiration>2030-01-01T00:00:00Z</Expiration></Credentials>")
    text = f'<{action}Response xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><{action}Result>{inner}</{action}Result><ResponseMetadata><RequestId>1</RequestId></ResponseMetadata></{action}Response>'
    request.reply(200, "text/xml", text.encode())


def dynamo(cloud, request, body):
    """Also says what it was sent, as a server in trouble does."""
    fields = request.headers
    request.reply(200, "application/x-amz-json-1.0", providers.json.dumps({"TableNames": ["people"], "Came": dict(fields), "Bytes": len(cloud.now.request["body"])}).encode(),
                  X_Came=(fields["x-amz-security-token"] or "none"))


def place(host, path):
    bucket, key = host.partition(".")[0], urllib.parse.unquote(path.partition("?")[0])[1:]
    return tuple(key.split("/", 1)) if host == STORE else (bucket, key)


def listing(cloud, request, bucket):
    items = "".join(f"<Contents><Key>{k}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>&quot;e&quot;</ETag><Size>{len(v)}</Size><StorageClass>STANDARD</StorageClass></Contents>"
                    for (b, k), v in sorted(cloud.objects.items()) if b == bucket)
    request.reply(200, "application/xml", f"<ListBucketResult><Name>{bucket}</Name><IsTruncated>false</IsTruncated><MaxKeys>1000</MaxKeys>{items}</ListBucketResult>".encode())


def tag(data):
    return f'"{hashlib.md5(data, usedforsecurity=False).hexdigest()}"'


def get(cloud, request, _):
    bucket, key = place(request.connection.lab_name, request.path)
    if not key:
        return listing(cloud, request, bucket)
    data, span = cloud.objects.get((bucket, key)), re.fullmatch(r"bytes=(\d+)-(\d*)", request.headers["range"] or "")
    if data is None:
        return request.reply(404, "application/xml", b"<Error><Code>NoSuchKey</Code></Error>")
    more = {"ETag": tag(data), "Last_Modified": "Thu, 01 Jan 2026 00:00:00 GMT", "Accept_Ranges": "bytes"}
    if span:
        first, last = int(span[1]), min(int(span[2] or len(data)), len(data) - 1)
        return request.reply(206, "binary/octet-stream", data[first:last + 1], Content_Range=f"bytes {first}-{last}/{len(data)}", **more)
    return request.reply(200, "binary/octet-stream", data, **more)


def unchunked(data):
    """The content of aws-chunked, whose pieces have no signatures."""
    out = b""
    while data:
        size, _, data = data.partition(b"\r\n")
        n = int(size.split(b";")[0], 16)
        if n == 0:
            break
        out, data = out + data[:n], data[n + 2:]
    return out


def put(cloud, request, _):
    bucket, key = place(request.connection.lab_name, request.path)
    query, data = dict(urllib.parse.parse_qsl(request.path.partition("?")[2])), cloud.now.request["body"]
    if request.headers["x-amz-copy-source"]:
        data = cloud.objects[tuple(urllib.parse.unquote(request.headers["x-amz-copy-source"]).strip("/").split("/", 1))]
    if request.headers["x-amz-content-sha256"] == UNSIGNED[1]:
        data = unchunked(data)
    if "partNumber" in query:
        cloud.parts[int(query["partNumber"])] = data
    else:
        cloud.objects[bucket, key] = data
    request.reply(200, "application/xml", b"", ETag=tag(data))


def post(cloud, request, _):
    bucket, key = place(request.connection.lab_name, request.path)
    if "uploads" in request.path.partition("?")[2]:
        cloud.parts.clear()
        return request.reply(200, "application/xml", f"<InitiateMultipartUploadResult><Bucket>{bucket}</Bucket><Key>{key}</Key><UploadId>u1</UploadId></InitiateMultipartUploadResult>".encode())
    cloud.objects[bucket, key] = b"".join(cloud.parts[n] for n in sorted(cloud.parts))
    return request.reply(200, "application/xml", f"<CompleteMultipartUploadResult><Bucket>{bucket}</Bucket><Key>{key}</Key><ETag>e</ETag></CompleteMultipartUploadResult>".encode())


def remove(cloud, request, _):
    cloud.objects.pop(place(request.connection.lab_name, request.path), None)
    request.reply(204, "application/xml", b"")


class Cloud(providers.Server):
    def __init__(self, certificate):
        self.keys, self.objects, self.parts, self.minted = {}, {}, {}, None
        super().__init__(certificate)
        self.apis = [(STS, m, "/", sts) for m in ("GET", "POST")] + [(DYNAMO, "POST", "/", dynamo)] + \
                    [(host, method, "/.*", fn) for host in (S3, OTHER_S3, STORE) for method, fn in (("GET", get), ("HEAD", get), ("PUT", put), ("POST", post), ("DELETE", remove))]
        self.refuse, self.during, self.lock = self.look, None, threading.Lock()
        self.now = threading.local()    # the request that a connection's thread is at

    def make_key(self, temporary=False):
        key = make_key(temporary)
        self.keys[key.key] = key
        return key

    def look(self, request):
        self.now.request = request
        if request["host"] not in HOSTS:
            return None
        why = why_not(request, self.keys)
        with self.lock:
            during, self.during = (self.during, None) if not why else (None, self.during)
        if during:
            during()
        return why

    def asked(self, host, method=None, path=""):
        return [r for r in self.requests if r["host"] == host and method in (None, r["method"]) and path in r["path"]]

    def let_in(self, host, method=None, path=""):
        return [r for r in self.asked(host, method, path) if not r["refused"]]

    def saw(self, needles):
        return [f"{r['method']} {r['host']}{r['path']}: {sorted(found)}" for r in self.requests
                if (found := {n for text in (r["path"], *r["headers"], *r["headers"].values(), r["body"]) for n in credentials.search(text, needles)})]

    def log(self):
        return "\n".join(f"{r['method']} https://{r['host']}{r['path']} {len(r['body'])} {r['refused'] or 'let in'}" for r in self.requests)
