import { aliceKey, managementPath } from "../support/gateway-fixture.ts";
import { requestText } from "../support/raw-client.ts";
import { type RawRow, refused } from "./raw-framing.ts";

const authorization = `Authorization: Bearer ${aliceKey}`;
const host = "Host: gateway";

function head(line: string, fields: readonly string[] = [host, authorization]): string {
  return `${[line, ...fields].join("\r\n")}\r\n\r\n`;
}

const behind = requestText("GET /behind");

function forwarded(rule: string, fields: readonly string[]): RawRow {
  return { rule, bytes: requestText("GET /api", fields), answers: [200], forwarded: 1 };
}

const lines: readonly RawRow[] = [
  refused("a bare LF", head(`GET ${managementPath}/api HTTP/1.1`).replaceAll("\r\n", "\n")),
  refused("a bare CR between fields", requestText("GET /api", ["A: b\rX-C: d"])),
  refused("a folded field", requestText("GET /api", ["A: b\r\n c"])),
  refused("a folded first field", head(`GET ${managementPath}/api HTTP/1.1`, [` ${host}`])),
  refused("a blank before a colon", requestText("GET /api", ["Impersonate-User : root"])),
  refused("a field without a colon", requestText("GET /api", ["Impersonate-User"])),
  refused("a field without a name", requestText("GET /api", [": root"])),
  refused("NUL in a value", requestText("GET /api", ["User-Agent: a\u0000b"])),
  refused("a control character in a value", requestText("GET /api", ["User-Agent: a\u0007b"])),
  refused("a name with an underscore", requestText("GET /api", ["Impersonate_User: root"])),
  {
    rule: "reads two blanks in the request line as one",
    bytes: head(`GET  ${managementPath}/api HTTP/1.1`),
    answers: [200],
    forwarded: 1,
  },
  refused("a tab in the request line", head(`GET\t${managementPath}/api HTTP/1.1`)),
  refused("a target in absolute form", head(`GET https://gateway${managementPath}/api HTTP/1.1`)),
  refused("a target with a fragment", head(`GET ${managementPath}/api#a HTTP/1.1`)),
  refused("a target with bytes past ASCII", head(`GET ${managementPath}/\u00fc HTTP/1.1`)),
  refused("a target with DEL", head(`GET ${managementPath}/\u007f HTTP/1.1`)),
  refused("GET *", head("GET * HTTP/1.1")),
  refused("OPTIONS *", head("OPTIONS * HTTP/1.1"), 405),
  refused("TRACE", head(`TRACE ${managementPath}/api HTTP/1.1`), 405),
  refused("QUERY", head(`QUERY ${managementPath}/api HTTP/1.1`), 405),
  refused("a method in small letters", head(`get ${managementPath}/api HTTP/1.1`)),
  refused("a method that HTTP does not know", head(`FETCH ${managementPath}/api HTTP/1.1`)),
  {
    rule: "refuses CONNECT with a target in authority form, and closes",
    bytes: `${head("CONNECT api:6443 HTTP/1.1")}${behind}`,
    answers: [],
    forwarded: 0,
  },
  refused("HTTP/1.0", head(`GET ${managementPath}/api HTTP/1.0`), 505),
  refused(
    "HTTP/1.0 that would keep the connection",
    head(`GET ${managementPath}/api HTTP/1.0`, [host, authorization, "Connection: keep-alive"]) +
      behind,
    505,
  ),
  refused("HTTP/0.9", `GET ${managementPath}/api\r\n\r\n`, 505),
  refused("HTTP/1.2", head(`GET ${managementPath}/api HTTP/1.2`)),
  refused("HTTP/2.0 in a request line", head(`GET ${managementPath}/api HTTP/2.0`), 505),
  refused("the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
  refused("a version in small letters", head(`GET ${managementPath}/api http/1.1`)),
];

const fields: readonly RawRow[] = [
  refused("two hosts", requestText("GET /api", ["Host: api"])),
  refused("no host", head(`GET ${managementPath}/api HTTP/1.1`, [authorization])),
  refused("two of Authorization", requestText("GET /api", ["authorization: Bearer other"])),
  refused("two of Content-Type", requestText("GET /api", ["Content-Type: a", "content-type: a"])),
  refused("no key", head(`GET ${managementPath}/api HTTP/1.1`, [host]), 401),
  refused(
    "a password",
    head(`GET ${managementPath}/api HTTP/1.1`, [host, "Authorization: Basic YTpi"]),
    401,
  ),
  ...[
    "Impersonate-User",
    "impersonate-group",
    "IMPERSONATE-UID",
    "iMpErSoNaTe-ExTrA-scopes",
    "Impersonate",
  ].map((name) =>
    refused(`${name} from a client`, requestText("GET /api", [`${name}: root`]), 403),
  ),
  refused(
    "Impersonate-User that Connection names",
    requestText("GET /api", ["Connection: impersonate-user", "Impersonate-User: root"]),
    403,
  ),
  refused("201 fields", requestText("GET /api", manyFields(199)), 431),
  refused(
    "an Authorization behind a thousand fields",
    requestText("GET /api", [...manyFields(1_100), "Impersonate-User: root"]),
    431,
  ),
  refused("a head of 33 KiB", requestText("GET /api", [`X-Long: ${"a".repeat(33 * 1024)}`]), 431),
  refused("a target of 17 KiB", head(`GET ${managementPath}/${"a".repeat(17 * 1024)} HTTP/1.1`)),
  forwarded("forwards its own fields, although Connection names them", [
    "Connection: impersonate-user, impersonate-group, authorization, host, x-forwarded-for",
  ]),
  forwarded("forwards nothing of a proxy's or a browser's fields", [
    ...["X-Remote-User: root", "X-Remote-Group: system:masters", "X-Forwarded-For: 10.0.0.1"],
    ...["Forwarded: for=1", "Cookie: a=b", "Proxy-Authorization: Basic YTpi", "Via: 1.1 a"],
  ]),
  forwarded("forwards nothing that is meant for one connection", [
    ...["Keep-Alive: timeout=5", "TE: trailers", "Trailer: X-End", "Proxy-Connection: keep-alive"],
    ...["Connection: TE, keep-alive"],
  ]),
  forwarded("forwards 200 fields as those that are listed", manyFields(198)),
  forwarded("forwards an empty line before the request line as nothing", []),
];

const upgrades: readonly RawRow[] = [
  refused(
    "an upgrade with a length",
    requestText("POST /api", [...upgrade("websocket"), "Content-Length: 5"], `hello${behind}`),
  ),
  refused(
    "an upgrade with chunks",
    requestText(
      "POST /api",
      [...upgrade("websocket"), "Transfer-Encoding: chunked"],
      `5\r\nhello\r\n0\r\n\r\n${behind}`,
    ),
  ),
  {
    rule: "refuses an upgrade without a key, and reads nothing behind it",
    bytes: noKey(upgrade("websocket")) + behind,
    answers: [401],
    forwarded: 0,
  },
  forwarded("makes a plain request of an upgrade to h2c", [
    ...upgrade("h2c"),
    "HTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA",
  ]),
  forwarded("makes a plain request of an upgrade to two protocols", upgrade("websocket, h2c")),
  forwarded("makes a plain request of an upgrade that Connection does not name", [
    "Upgrade: websocket",
  ]),
];

const pipelined: readonly RawRow[] = [
  {
    rule: "reads nothing behind a request that it cannot read",
    bytes: head("GET * HTTP/1.1") + behind,
    answers: [400],
    forwarded: 0,
  },
  {
    rule: "reads nothing behind a method that it does not serve",
    bytes: head(`OPTIONS ${managementPath}/api HTTP/1.1`) + behind,
    answers: [405],
    forwarded: 0,
  },
  {
    rule: "forwards a request behind one without a key by its own key",
    bytes: head(`GET ${managementPath}/first HTTP/1.1`, [host]) + behind,
    answers: [401, 200],
    forwarded: 1,
  },
  {
    rule: "forwards nothing behind a request that closes the connection",
    bytes: requestText("GET /first", ["Connection: close"]) + behind,
    answers: [400],
    forwarded: 1,
    stays: false,
  },
  {
    rule: "forwards no upgrade behind a request without an answer",
    bytes: requestText("GET /first") + requestText("GET /second", upgrade("websocket")),
    answers: [],
    forwarded: 1,
    stays: false,
  },
  {
    rule: "refuses a hundred requests that do not wait for an answer",
    bytes: requestText("GET /first") + behind.repeat(100),
    answers: [],
    forwarded: 1,
    stays: false,
  },
];

function manyFields(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `X-${index}: a`);
}

function upgrade(protocol: string): readonly string[] {
  return ["Connection: Upgrade", `Upgrade: ${protocol}`];
}

function noKey(others: readonly string[]): string {
  return head(`GET ${managementPath}/api HTTP/1.1`, [host, ...others]);
}

/** Requests whose head two servers could read in two ways, or that ask for what is not theirs. */
export const headRows: readonly RawRow[] = [...lines, ...fields, ...upgrades, ...pipelined];
