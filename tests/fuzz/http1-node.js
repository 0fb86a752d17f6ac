// Reads what http1-differential wrote (inputs that our HTTP/1 reader accepts, with its reading) with the reader inside
// node, a later llhttp than Debian's, and says where that reads something else. Node has it for its own use only;
// where a release hides it, this says so with status 3.
//
//     node http1-node.js FILE
'use strict';
const fs = require('fs');

let binding;
try {
  process.noDeprecation = true;
  binding = process.binding('http_parser');
  if (!binding.HTTPParser) throw new Error('no HTTPParser');
} catch (e) {
  console.log(`node ${process.version} shows its reader to nobody: ${e.message}`);
  process.exit(3);
}
const { HTTPParser } = binding;
const methods = binding.allMethods || binding.methods;
const all = fs.readFileSync(process.argv[2]);
let at = 0;
const next = () => {
  const n = all.readUInt32LE(at);
  at += 4 + n;
  return all.subarray(at - n, at);
};

// Header values come as latin1 strings; ours are bytes.
const trim = (s) => s.replace(/^[ \t]+|[ \t]+$/g, '');
const lower = (s) => s.replace(/[A-Z]/g, (c) => c.toLowerCase());

function read(mode, data) {
  const found = [];
  let m = null, fields = [], url = '', websocket = false, switched = false, error = null;
  const p = new HTTPParser();
  p.initialize(mode === 'Q' ? HTTPParser.REQUEST : HTTPParser.RESPONSE, {}, 1 << 20, 0);
  p[HTTPParser.kOnMessageBegin | 0] = () => {};
  p[HTTPParser.kOnHeaders | 0] = (h, u) => { fields.push(...h); url += u; };
  p[HTTPParser.kOnHeadersComplete | 0] = (major, minor, h, method, u, status) => {
    if (h) fields.push(...h);
    if (u) url += u;
    let head = mode === 'Q' ? `${methods[method]} ${url} ${major}.${minor}\n` : `${status} ${major}.${minor}\n`;
    websocket = false;
    for (let i = 0; i < fields.length; i += 2) {
      head += `${lower(fields[i])}=${trim(fields[i + 1])}\n`;
      websocket = websocket || (lower(fields[i]) === 'upgrade' && lower(trim(fields[i + 1])) === 'websocket');
    }
    m = { head, body: [], complete: false, connect: mode === 'Q' && methods[method] === 'CONNECT' };
    found.push(m);
    fields = [];
    url = '';
    if (mode === 'Q' || status < 200) return 0;
    if (mode === 'C' && status < 300) return 2;
    return mode === 'H' || status === 304 || status === 204 ? 1 : 0;
  };
  p[HTTPParser.kOnBody | 0] = (b, offset, n) => {
    m.body.push(Buffer.from(offset === undefined ? b : b.subarray(offset, offset + n)));
  };
  p[HTTPParser.kOnMessageComplete | 0] = () => {
    m.complete = true;
    fields = []; // trailers
    url = '';
  };
  let rest = data;
  while (rest.length > 0 && !error && !switched) {
    const k = p.execute(rest);
    if (k instanceof Error) {
      error = k.code || k.message;
      break;
    }
    if (k >= rest.length) {
      rest = rest.subarray(rest.length);
      // An upgrade at the very end of the input.
      switched = m !== null && m.complete && (m.connect || (mode === 'Q' && websocket));
      break;
    }
    // It stops where it thinks that another protocol begins; only a WebSocket and CONNECT are taken up.
    if (m.connect || websocket || mode !== 'Q') switched = true;
    rest = rest.subarray(k);
    if (k === 0 && !switched) { error = 'no progress'; break; }
  }
  if (!error && !switched && !(m && m.complete)) {
    const e = p.finish();
    if (e instanceof Error) error = e.code || e.message;
  }
  p.close();
  return { found, error };
}

let inputs = 0, messages = 0, wrong = 0;
while (at < all.length) {
  const mode = next().toString('latin1');
  const data = Buffer.from(next());
  next();
  const n = next().length;
  const ours = [];
  for (let i = 0; i < n; i++) ours.push([next().toString('latin1'), Buffer.from(next()), next().length > 0]);
  inputs++;
  const theirs = read(mode, data);
  for (let i = 0; i < n; i++) {
    messages++;
    const [head, body, complete] = ours[i];
    const t = theirs.found[i];
    const why = !t ? 'no head there' : t.head !== head ? 'the head' :
      t.complete !== complete ? 'whether it is complete' : !Buffer.concat(t.body).equals(body) ? 'the content' : null;
    if (!why) continue;
    if (wrong++ < 5) {
      console.log(`node reads message ${i} differently: ${why} (${theirs.error})`);
      console.log(`  input: ${JSON.stringify(mode + data.toString('latin1'))}`);
      const show = (h, b, c) => `${JSON.stringify(h)} ${JSON.stringify(b.toString('latin1'))} ${c}`;
      console.log(`  ours: ${show(head, body, complete)}`);
      if (t) console.log(`  its: ${show(t.head, Buffer.concat(t.body), t.complete)}`);
    }
    break;
  }
}
console.log(`llhttp ${process.versions.llhttp} of node ${process.version}: ${inputs} inputs, ${messages} messages, ` +
  `${wrong} read differently`);
process.exit(wrong || messages === 0 ? 1 : 0);
