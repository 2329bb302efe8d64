import { isIP, type Socket } from "node:net";

/** What a tunnel leads to. */
export interface TunnelTarget {
  /** A name, which the proxy resolves, or an IP address without brackets. */
  readonly host: string;
  readonly port: number;
}

/** What a proxy says in place of success (RFC 1928, section 6). */
const replies: ReadonlyMap<number, string> = new Map([
  [1, "general failure"],
  [2, "the connection is not allowed"],
  [3, "the network is unreachable"],
  [4, "the host is unreachable"],
  [5, "the connection is refused"],
  [6, "the time to live has expired"],
]);

/**
 * Asks a SOCKS5 proxy for a connection over its socket (RFC 1928, with user and password of RFC
 * 1929). Rejects with an Error, also if the socket closes.
 */
export async function socksConnect(
  socket: Socket,
  { host, port }: TunnelTarget,
  login: readonly [user: string, password: string] | undefined,
): Promise<void> {
  const { take, end } = byteReader(socket);
  try {
    socket.write(Buffer.from(login === undefined ? [5, 1, 0] : [5, 2, 0, 2]));
    const [version, method] = await take(2);
    if (version !== 5) throw new Error("it does not speak SOCKS5");
    if (method === 2 && login !== undefined) await authenticate(socket, login, take);
    else if (method !== 0) throw new Error("it does not accept the user and password");
    const portBytes = [port >> 8, port & 0xff];
    socket.write(Buffer.from([5, 1, 0, ...addressBytes(host), ...portBytes]));
    const [, reply = 1, , kind] = await take(4);
    if (reply !== 0) throw new Error(replies.get(reply) ?? `reply ${reply}`);
    // The address that the proxy connects from, and its port.
    const [length = 0] = kind === 3 ? await take(1) : [kind === 4 ? 16 : 4];
    await take(length + 2);
  } finally {
    end();
  }
}

type Take = (count: number) => Promise<Buffer>;

async function authenticate(
  socket: Socket,
  login: readonly [user: string, password: string],
  take: Take,
): Promise<void> {
  socket.write(Buffer.concat([Buffer.from([1]), ...login.map(withLength)]));
  const [, status] = await take(2);
  if (status !== 0) throw new Error("it does not accept the user and password");
}

function withLength(text: string): Buffer {
  const bytes = Buffer.from(text);
  if (bytes.length > 255) throw new Error("a name, user or password is longer than 255 bytes");
  return Buffer.concat([Buffer.from([bytes.length]), bytes]);
}

/** Type and bytes of an address; names are resolved by the proxy. */
function addressBytes(host: string): Buffer {
  switch (isIP(host)) {
    case 4:
      return Buffer.from([1, ...host.split(".").map(Number)]);
    case 6:
      return Buffer.concat([Buffer.from([4]), ipv6Bytes(host)]);
    default:
      return Buffer.concat([Buffer.from([3]), withLength(host)]);
  }
}

/** The 16 bytes of an address as URLs write it: groups of hexadecimal digits. */
function ipv6Bytes(address: string): Buffer {
  const [first = [], last = []] = address
    .split("::")
    .map((part) => part.split(":").filter((group) => group !== ""));
  const zeros = Array.from({ length: 8 - first.length - last.length }, () => "0");
  const groups = [...first, ...zeros, ...last].map((group) => group.padStart(4, "0"));
  return Buffer.from(groups.join(""), "hex");
}

/**
 * Reads exactly as many bytes as it is asked for, and leaves the rest to the next reader of the
 * socket. One listener for all: a new one is called at once while a part of them is there.
 */
function byteReader(socket: Socket): { readonly take: Take; readonly end: () => void } {
  let wake = (): void => {};
  const changed = (): void => wake();
  socket.on("readable", changed).on("close", changed);
  return {
    async take(count) {
      for (;;) {
        const bytes: unknown = socket.read(count);
        if (Buffer.isBuffer(bytes) && bytes.length === count) return bytes;
        if (socket.readableEnded || socket.destroyed) throw new Error("it closed the connection");
        await new Promise<void>((resolve) => (wake = resolve));
      }
    },
    end: () => void socket.off("readable", changed).off("close", changed),
  };
}
