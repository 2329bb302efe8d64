import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import {
  environmentProxies,
  nameOfProxy,
  parseProxy,
  withoutLogin,
} from "../../../src/kube/credentials/proxies.ts";

/** The proxy of an address by name, with its login. */
function read(address: string): string {
  const proxy = parseProxy(address);
  if (typeof proxy === "string") return proxy;
  return [nameOfProxy(proxy), ...(proxy.login?.() ?? [])].join(" ");
}

describe("the address of a proxy", () => {
  test.each([
    ["http://proxy.example.com:3128", "http://proxy.example.com:3128"],
    ["http://proxy.example.com", "http://proxy.example.com:80"],
    ["https://proxy.example.com", "https://proxy.example.com:443"],
    ["https://proxy.example.com:443/", "https://proxy.example.com:443"],
    ["socks5://proxy.example.com", "socks5://proxy.example.com:1080"],
    ["socks5://proxy.example.com:80", "socks5://proxy.example.com:80"],
    ["socks5h://proxy.example.com:1081", "socks5://proxy.example.com:1081"],
    ["HTTP://proxy.example.com:3128", "http://proxy.example.com:3128"],
    // Host and port alone are those of an HTTP proxy, whatever the name looks like.
    ["proxy.example.com:3128", "http://proxy.example.com:3128"],
    ["proxy", "http://proxy:80"],
    ["10.0.0.1:3128", "http://10.0.0.1:3128"],
    ["[fd00::1]:3128", "http://[fd00::1]:3128"],
    ["socks5://[fd00::1]", "socks5://[fd00::1]:1080"],
    [" http://proxy.example.com:3128\n", "http://proxy.example.com:3128"],
    ["http://proxy.example.com:3128/path?query", "http://proxy.example.com:3128"],
    ["http://me:s%40cret@proxy.example.com", "http://proxy.example.com:80 me s@cret"],
    ["me:secret@proxy.example.com:3128", "http://proxy.example.com:3128 me secret"],
    ["http://me@proxy.example.com", "http://proxy.example.com:80 me "],
    ["socks5://me:secret@proxy.example.com", "socks5://proxy.example.com:1080 me secret"],
  ])("%j is %s", (address, name) => {
    expect(read(address)).toBe(name);
  });

  test.each([
    ["ftp://me:canary@proxy", 'has the scheme "ftp", which is not supported; use http://'],
    ["socks4://proxy:1080", 'has the scheme "socks4"'],
    ["pac+http://proxy", 'has the scheme "pac+http"'],
    ["http://", "is not the address of a proxy; write it as http://proxy.example.com:3128"],
    ["", "is not the address of a proxy"],
    ["http://me:can#ary@proxy", "is not the address of a proxy"],
    ["http://me:canary@proxy:no-port", "is not the address of a proxy"],
    ["me:canary://proxy", "is not the address of a proxy"],
    ["http://proxy with blanks", "is not the address of a proxy"],
    ["http://me:canary%@proxy", "has a user or password with a % that begins no escape"],
  ])("%j is refused, and not quoted", (address, problem) => {
    const said = read(address);
    expect(said).toContain(problem);
    expect(said).not.toMatch(/canary|ary/);
  });

  test("is shown to others, printed and logged without user and password", () => {
    const address = "http://me:canary@proxy.example.com:3128/";
    const proxy = parseProxy(address);
    expect(withoutLogin(address)).toBe("http://proxy.example.com:3128");
    expect(withoutLogin("proxy:3128")).toBe("proxy:3128");
    expect(inspect(proxy) + JSON.stringify(proxy)).not.toContain("canary");
  });
});

describe("the proxy of the variables", () => {
  const https = "http://up:1";
  const url = "https://east.example.com:6443/prefix";

  test.each<[string, Readonly<Record<string, string>>, string, string | undefined]>([
    ["HTTPS_PROXY", { HTTPS_PROXY: https }, url, https],
    ["https_proxy", { https_proxy: https }, url, https],
    ["upper case first", { HTTPS_PROXY: https, https_proxy: "http://low:1" }, url, https],
    [
      "an empty one is unset",
      { HTTPS_PROXY: "", https_proxy: "http://low:1" },
      url,
      "http://low:1",
    ],
    ["none", {}, url, undefined],
    ["not HTTP_PROXY", { HTTP_PROXY: https, http_proxy: https }, url, undefined],
    ["not ALL_PROXY", { ALL_PROXY: https, all_proxy: https }, url, undefined],
    [
      "none without TLS",
      { HTTPS_PROXY: https, HTTP_PROXY: https },
      "http://a.example.com",
      undefined,
    ],
    ["NO_PROXY first", { HTTPS_PROXY: https, NO_PROXY: "a", no_proxy: "example.com" }, url, https],
    ["no_proxy", { HTTPS_PROXY: https, NO_PROXY: "", no_proxy: "example.com" }, url, undefined],
  ])("%s", (_rule, env, to, expected) => {
    const proxy = environmentProxies(env)(to);
    expect(proxy && nameOfProxy(proxy)).toBe(expected);
  });

  // As Go's httpproxy decides, which kubectl uses.
  test.each([
    // Never, for the machine itself.
    ["", "https://localhost:6443", "direct"],
    ["", "https://127.0.0.1:6443", "direct"],
    ["", "https://127.1.2.3", "direct"],
    ["", "https://[::1]:6443", "direct"],
    ["", "https://[::ffff:127.0.0.1]", "direct"],
    ["", "https://localhost.example.com", "proxy"],
    ["", "https://kubernetes.default.svc", "proxy"],
    // Names.
    ["example.com", "https://example.com", "direct"],
    ["example.com", "https://east.example.com:6443", "direct"],
    ["EXAMPLE.com", "https://East.Example.COM", "direct"],
    ["example.com", "https://notexample.com", "proxy"],
    [".example.com", "https://east.example.com", "direct"],
    [".example.com", "https://example.com", "proxy"],
    ["*.example.com", "https://east.example.com", "direct"],
    ["*.example.com", "https://example.com", "proxy"],
    [".svc", "https://latchkey-gateway.latchkey-system.svc", "direct"],
    ["svc", "https://a.svc.cluster.local", "proxy"],
    ["bücher.example", "https://bücher.example", "direct"],
    // Ports.
    ["example.com:6443", "https://example.com:6443", "direct"],
    ["example.com:6443", "https://example.com", "proxy"],
    ["example.com:443", "https://example.com", "direct"],
    ["10.0.0.1:6443", "https://10.0.0.1:6443", "direct"],
    ["10.0.0.1:6443", "https://10.0.0.1:6444", "proxy"],
    ["[fd00::1]:6443", "https://[fd00::1]:6443", "direct"],
    ["[fd00::1]:6443", "https://[fd00::1]", "proxy"],
    // Addresses and networks.
    ["10.0.0.1", "https://10.0.0.1:6443", "direct"],
    ["10.0.0.1", "https://10.0.0.10", "proxy"],
    ["0.0.1", "https://10.0.0.1", "proxy"],
    ["fd00::1", "https://[fd00:0:0::0001]", "direct"],
    ["10.0.0.0/8", "https://10.200.0.1", "direct"],
    ["10.0.0.0/8", "https://11.0.0.1", "proxy"],
    ["10.1.2.3/8", "https://10.200.0.1", "direct"],
    ["0.0.0.0/0", "https://11.0.0.1", "direct"],
    ["0.0.0.0/0", "https://[fd00::1]", "proxy"],
    ["0.0.0.0/0", "https://example.com", "proxy"],
    ["fd00::/8", "https://[fd12::1]", "direct"],
    ["fd00::/8", "https://[fe12::1]", "proxy"],
    // Lists.
    [" 10.0.0.0/8 , example.com ,", "https://example.com", "direct"],
    ["a.example,b.example", "https://b.example", "direct"],
    ["a.example b.example", "https://b.example", "proxy"],
    ["*", "https://example.com", "direct"],
    ["a,*", "https://[fd00::1]", "direct"],
    // What has no form exempts nothing.
    ["10.0.0.0/33", "https://10.0.0.1", "proxy"],
    ["fd00::/129", "https://[fd00::1]", "proxy"],
    ["10.0.0.0/", "https://10.0.0.0", "proxy"],
    [":443", "https://example.com", "proxy"],
    ["https://example.com", "https://example.com", "proxy"],
    ["[]", "https://example.com", "proxy"],
    ["ex*", "https://example.com", "proxy"],
  ])("NO_PROXY=%j: %s is reached by %s", (noProxy, to, way) => {
    const proxy = environmentProxies({ HTTPS_PROXY: https, NO_PROXY: noProxy })(to);
    expect(proxy === undefined ? "direct" : "proxy").toBe(way);
  });

  test.each(["HTTPS_PROXY", "https_proxy"])("an invalid %s stops with its name", (name) => {
    expect(() => environmentProxies({ [name]: "quic://me:canary@proxy" })).toThrow(
      new RegExp(`^${name} has the scheme "quic", which is not supported; use http://`),
    );
  });

  test("long lists take no time of note", () => {
    const noProxy = `${"a.".repeat(50_000)}:${"[".repeat(50_000)},${"*.".repeat(50_000)}`;
    const proxyOf = environmentProxies({ HTTPS_PROXY: https, NO_PROXY: noProxy });
    expect(proxyOf(url)).toBeDefined();
  });
});
