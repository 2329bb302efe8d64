import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { debianPrograms } from "./debian-programs.ts";
import { eventually } from "./eventually.ts";
import { freePort } from "./free-port.ts";
import { testCertificates } from "./gateway-fixture.ts";
import { startTiedChild } from "./tied-child.ts";

/** The nginx of Debian, in front of one server. */
export interface Nginx {
  /** The address where it sends what it sends by itself. */
  readonly url: string;
  /** The address where it sends HTTP/1.1. */
  readonly newerUrl: string;
  /** The CA of its certificates, in PEM. */
  readonly ca: string;
  stop(): Promise<void>;
}

/** The directory of nginx; rejects if the apt sources of this machine do not serve it. */
export function nginxPrograms(): Promise<string> {
  return debianPrograms(["nginx", "libpcre2-8-0"], (line) => {
    process.stderr.write(`nginx: ${line}\n`);
  });
}

/** Starts nginx on two ports of 127.0.0.1 in front of an https server. */
export async function startNginx(programs: string, backend: string): Promise<Nginx> {
  const directory = mkdtempSync(join(tmpdir(), "nginx-"));
  const { ca, tls } = await testCertificates();
  writeFileSync(join(directory, "tls.crt"), tls.certificate);
  writeFileSync(join(directory, "tls.key"), tls.privateKey, { mode: 0o600 });
  const [port, newer] = [await freePort(), await freePort()];
  const config = join(directory, "nginx.conf");
  writeFileSync(config, configuration(directory, backend, { port, newer }));
  const child = startTiedChild(
    [join(programs, "usr/sbin/nginx"), "-p", directory, "-c", config, "-e", "stderr"],
    {
      log: join(directory, "log"),
      removeWithParent: directory,
      env: { LD_LIBRARY_PATH: join(programs, "usr/lib", `${triplets[process.arch]}-linux-gnu`) },
    },
  );
  const isReady = async (): Promise<boolean> =>
    (await fetch(`http://127.0.0.1:${port}/`)).status === 400;
  await eventually(isReady, { what: "nginx to listen" });
  return {
    url: `https://127.0.0.1:${port}`,
    newerUrl: `https://127.0.0.1:${newer}`,
    ca,
    async stop() {
      await child.stop();
      rmSync(directory, { recursive: true });
    },
  };
}

const triplets: Readonly<Record<string, string>> = { x64: "x86_64", arm64: "aarch64" };

function configuration(
  directory: string,
  backend: string,
  { port, newer }: { readonly port: number; readonly newer: number },
): string {
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (name) => `${name}_temp_path ${directory};`,
  );
  const server = (at: number, more: string): string =>
    `server { listen 127.0.0.1:${at} ssl; location / { proxy_pass ${backend}; ${more} } }`;
  return `
    daemon off; master_process off; pid ${directory}/pid; error_log stderr; events {}
    http {
      access_log off; ${temporary.join(" ")}
      ssl_certificate ${directory}/tls.crt; ssl_certificate_key ${directory}/tls.key;
      ${server(port, "")}
      ${server(newer, "proxy_http_version 1.1;")}
    }
  `;
}
