"""What a program inside does with the placeholders of AWS keys: python3 inside_aws.py NAME... (none: all but those of ALLOWED).

Requests are signed by botocore, or changed after that as a hostile or an unusual client would; what came back is said as it came,
and what counts is what the servers saw. See aws, cloud.py.
"""
import http.client
import os
import ssl
import sys

import boto3
import botocore.auth
import botocore.awsrequest
import botocore.config
import botocore.credentials
from cloud_names import ACCOUNT, DYNAMO, OTHER_REGION, REGION, S3, STORE, STS

KEYS = botocore.credentials.Credentials(os.environ["AWS_ACCESS_KEY_ID"], os.environ["AWS_SECRET_ACCESS_KEY"], os.environ.get("AWS_SESSION_TOKEN"))
FOREIGN = botocore.credentials.Credentials(os.environ.get("FOREIGN_ID", "x"), os.environ.get("FOREIGN_KEY", "x"))
MIB = 1 << 20
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
JSON = {"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": "DynamoDB_20120810.ListTables"}
WHO = b"Action=GetCallerIdentity&Version=2011-06-15"
ROLE = f"Action=AssumeRole&Version=2011-06-15&RoleArn=arn:aws:iam::{ACCOUNT}:role/r&RoleSessionName=session".encode()
OPEN, ROWS, ALLOWED = {}, {}, ("mint", "copy")


def say(name, status, text=b""):
    print("row", name, status, text.decode("latin-1").replace("\n", " "), flush=True)


def send(name, host, method, path, fields, body=b"", chunked=False):
    """Over the connection that there is, as long as it lasts."""
    for fresh in (False, True):
        c = None if fresh else OPEN.get(host)
        if not c:
            c = OPEN[host] = http.client.HTTPSConnection(host, timeout=30, context=ssl.create_default_context())
        try:
            c.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for key, value in fields:
                c.putheader(key, value)
            if chunked:
                c.putheader("Transfer-Encoding", "chunked")
                c.endheaders((body[i:i + 50000] for i in range(0, len(body), 50000)), encode_chunked=True)
            else:
                if body or method in ("POST", "PUT"):
                    c.putheader("Content-Length", str(len(body)))
                c.endheaders(body)
        except OSError:
            pass        # refused before it was all sent: the answer is there
        try:
            r = c.getresponse()
            data, mark = r.read(), c.sock and c.sock.getsockname()[1]
        except (OSError, http.client.HTTPException) as e:
            OPEN.pop(host).close()
            if fresh:
                say(name, 0, repr(e).encode())
            continue
        say(name, r.status, f"{mark} {r.headers} ".encode() + data)
        if r.will_close:
            OPEN.pop(host).close()
        return


def signed(name, host, service, method="POST", path="/", body=b"", fields=(), keys=KEYS, region=REGION, change=None, chunked=False):
    q = botocore.awsrequest.AWSRequest(method=method, url=f"https://{host}{path}", data=body, headers=dict(fields))
    (botocore.auth.S3SigV4Auth if service == "s3" else botocore.auth.SigV4Auth)(keys, service, region).add_auth(q)
    pairs = [("Host", host), *((k, v) for k, v in q.headers.items() if k.lower() != "host")]
    send(name, host, method, path, change(pairs) if change else pairs, body, chunked)


def row(fn):
    ROWS[fn.__name__.replace("_", "-")] = fn
    return fn


def with_field(key, value):
    return lambda pairs: [(k, v) for k, v in pairs if k.lower() != key.lower()] + [(key, value)]


# ---- what is allowed ----

@row
def sdk(name):
    """boto3, as it is."""
    config = botocore.config.Config(region_name=REGION, retries={"max_attempts": 0}, s3={"addressing_style": "path"})
    who = boto3.client("sts", config=config, endpoint_url=f"https://{STS}").get_caller_identity()
    s3 = boto3.client("s3", config=config, endpoint_url=f"https://{STORE}")
    s3.put_object(Bucket="things", Key="sdk/one", Body=b"from the sdk")
    back = s3.get_object(Bucket="things", Key="sdk/one")["Body"].read()
    listed = boto3.client("dynamodb", config=config).list_tables()["TableNames"]
    say(name, 200, f"{who['Account']} {back} {listed}".encode())


@row
def kept(name):
    for i in range(4):
        signed(f"{name}-{i}", DYNAMO, "dynamodb", body=b"{}", fields=JSON)


@row
def in_query(name):
    signed(name, STS, "sts", "GET", "/?" + WHO.decode())


@row
def chunked(name):
    signed(name, DYNAMO, "dynamodb", body=b"{" + b" " * 200000 + b"}", fields=JSON, chunked=True)


@row
def whole(name):
    signed(name, DYNAMO, "dynamodb", body=b" " * MIB, fields=JSON)


@row
def object_large(name):
    signed(name, STORE, "s3", "PUT", "/things/large", b"l" * (3 * MIB))


@row
def object_unsigned(name):
    def change(pairs):
        return with_field("X-Amz-Content-SHA256", "UNSIGNED-PAYLOAD")(pairs)
    signed(name, STORE, "s3", "PUT", "/things/unsigned", b"u" * 100000, change=change, chunked=True)


@row
def object_trailer(name):
    """As newer SDKs send them; the piece has no signature, and a checksum stands behind it."""
    body = b"5\r\nhello\r\n0\r\nx-amz-checksum-crc32:NhCmhg==\r\n\r\n"
    fields = {"Content-Encoding": "aws-chunked", "X-Amz-Decoded-Content-Length": "5", "X-Amz-Trailer": "x-amz-checksum-crc32"}
    signed(name, STORE, "s3", "PUT", "/things/trailer", body, fields, change=with_field("X-Amz-Content-SHA256", "STREAMING-UNSIGNED-PAYLOAD-TRAILER"))


@row
def unsigned(name):
    send(name, STORE, "GET", "/things/unsigned-get", [("Host", STORE)])


# ---- what is not ----

@row
def not_long(name):
    signed(name, DYNAMO, "dynamodb", body=b" " * (MIB + 1), fields=JSON)


@row
def not_long_chunked(name):
    signed(name, DYNAMO, "dynamodb", body=b" " * (MIB + 1), fields=JSON, chunked=True)


@row
def not_role(name):
    signed(name, STS, "sts", body=ROLE, fields=FORM)


@row
def not_role_in_query(name):
    signed(name, STS, "sts", "GET", "/?" + ROLE.decode())


@row
def not_role_encoded(name):
    signed(name, STS, "sts", body=ROLE.replace(b"Action=A", b"A%63ti%6fn=%41"), fields=FORM)


@row
def not_role_beside(name):
    signed(name, STS, "sts", path="/?" + WHO.decode(), body=ROLE, fields=FORM)


@row
def not_role_behind(name):
    signed(name, STS, "sts", body=WHO + b"&" + ROLE, fields=FORM)


@row
def not_role_of_no_form(name):
    signed(name, STS, "sts", body=WHO, fields={"Content-Type": "text/plain"})


@row
def not_role_chunked(name):
    signed(name, STS, "sts", body=ROLE, fields=FORM, chunked=True)


@row
def not_role_by_target(name):
    signed(name, STS, "sts", body=b"{}", fields={"X-Amz-Target": "AWSSecurityTokenServiceV20110615.AssumeRole"})


@row
def not_streaming(name):
    signed(name, STORE, "s3", "PUT", "/things/streaming", b"x" * 100, change=with_field("X-Amz-Content-SHA256", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"))


@row
def not_several_regions(name):
    def change(pairs):
        text = dict(pairs)["Authorization"].replace("AWS4-HMAC-SHA256", "AWS4-ECDSA-P256-SHA256").replace(f"/{REGION}", "")
        return with_field("Authorization", text)(pairs)
    signed(name, STORE, "s3", "GET", "/things/a", change=change)


@row
def not_version_2(name):
    send(name, STORE, "GET", "/things/v2", [("Host", STORE), ("Authorization", f"AWS {KEYS.access_key}:{'x' * 28}")])


@row
def not_two(name):
    signed(name, STORE, "s3", "GET", "/things/two", change=lambda pairs: [*pairs, ("Authorization", "Bearer x")])


@row
def not_foreign(name):
    signed(name, DYNAMO, "dynamodb", body=b"{}", fields=JSON, keys=FOREIGN)


@row
def not_foreign_token(name):
    signed(name, DYNAMO, "dynamodb", body=b"{}", fields=JSON, change=lambda pairs: [*pairs, ("X-Amz-Security-Token", "F" * 200)])


@row
def not_region(name):
    signed(name, DYNAMO, "dynamodb", body=b"{}", fields=JSON, region=OTHER_REGION)


@row
def not_service(name):
    signed(name, DYNAMO, "sts", body=WHO, fields=FORM)


@row
def not_copy(name):
    signed(name, STORE, "s3", "PUT", "/things/copied", fields={"X-Amz-Copy-Source": "/other/open/a"})


def presigned(name, keys):
    q = botocore.awsrequest.AWSRequest(method="GET", url=f"https://{S3}/open/presigned")
    botocore.auth.S3SigV4QueryAuth(keys, "s3", REGION, expires=60).add_auth(q)
    send(name, S3, "GET", q.url.partition(S3)[2], [("Host", S3)])


@row
def not_presigned(name):
    presigned(name, KEYS)


@row
def not_presigned_foreign(name):
    presigned(name, FOREIGN)


@row
def not_another_field(name):
    signed(name, DYNAMO, "dynamodb", body=b"{}", fields=JSON | {"X-Other": KEYS.secret_key})


@row
def not_another_scope(name):
    """The id stands in the Credential, and something of the sandbox's own beside it."""
    def change(pairs):
        return with_field("Authorization", dict(pairs)["Authorization"].replace("/aws4_request", f"/{KEYS.access_key}"))(pairs)
    signed(name, DYNAMO, "dynamodb", body=b"{}", fields=JSON, change=change)


# ---- what a policy may allow ----

@row
def mint(name):
    signed(name, STS, "sts", body=ROLE, fields=FORM)


@row
def copy(name):
    signed(name, STORE, "s3", "PUT", "/things/copied", fields={"X-Amz-Copy-Source": "/acme-other/open/a"})


for wanted in sys.argv[1:] or [n for n in ROWS if n not in ALLOWED]:
    try:
        ROWS[wanted](wanted)
    except Exception as e:  # noqa: BLE001 - an answer that the SDK does not take
        say(wanted, 0, repr(e).encode())
