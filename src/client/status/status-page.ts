import { isSameText } from "../../tokens/random-text.ts";
import { printable } from "../failure.ts";
import { pageHtml, pageIcon, pageStyle } from "./status-page-html.ts";
import { pageScript } from "./status-page-script.ts";
import type { StatusView } from "./status-source.ts";

/** A request to the page; header names are in lower case. */
export interface PageRequest {
  readonly method: string;
  /** Path and query, as sent. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

/** A response with all its headers. */
interface PageResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Dependencies of {@link answerPage}. */
export interface PageDeps {
  /** `127.0.0.1:<port>`: the only Host that is answered. */
  readonly host: string;
  readonly token: string;
  /** What the reports are about. */
  readonly title: string;
  readonly intervalMs: number;
  /** Reads what is shown now. */
  readonly view: () => Promise<StatusView>;
}

/**
 * Answers a request of a browser on this machine. Other pages in that browser and other users of
 * the machine reach the port, too: the name in Host keeps out pages whose name resolves to
 * 127.0.0.1, Origin and Sec-Fetch-Site keep out other pages, and the token keeps out other users.
 */
export async function answerPage(request: PageRequest, deps: PageDeps): Promise<PageResponse> {
  const { method, target, headers } = request;
  if (headers["host"] !== deps.host) return refusal(421, "use the URL that the command printed");
  if (!isOwnOrigin(headers, deps.host)) return refusal(403, "another page must not read this one");
  if (method !== "GET") {
    const refused = refusal(405, "only GET is possible");
    return { ...refused, headers: { ...refused.headers, allow: "GET" } };
  }
  const file = files.get(target);
  if (file !== undefined) return respond(200, file.type, file.text);
  if (target !== "/api/status") return refusal(404, "there is no such page");
  if (!isSameText(bearerOf(headers["authorization"]), deps.token))
    return refusal(401, "the token is missing or wrong; use the URL that the command printed");
  return respond(200, "application/json", stateText(await deps.view(), deps));
}

/** Whether a request comes from this page, or from the address bar of the browser. */
function isOwnOrigin(headers: PageRequest["headers"], host: string): boolean {
  const { origin, "sec-fetch-site": site } = headers;
  return (
    (origin === undefined || origin === `http://${host}`) &&
    (site === undefined || site === "same-origin" || site === "none")
  );
}

function bearerOf(header: string | readonly string[] | undefined): string {
  return typeof header === "string" && header.startsWith("Bearer ") ? header.slice(7) : "";
}

/** The state as JSON; every text is {@link printable}. */
function stateText({ report, readAt, problem }: StatusView, deps: PageDeps): string {
  const { title, intervalMs } = deps;
  const state = { title, intervalMs, readAt, problem, report };
  return JSON.stringify(state, (_field, value: unknown) =>
    typeof value === "string" ? printable(value) : value,
  );
}

interface PageFile {
  readonly type: string;
  readonly text: string;
}

const files: ReadonlyMap<string, PageFile> = new Map(
  Object.entries({
    "/": { type: "text/html; charset=utf-8", text: pageHtml },
    "/status.css": { type: "text/css; charset=utf-8", text: pageStyle },
    "/status.js": { type: "text/javascript; charset=utf-8", text: pageScript },
    "/icon.svg": { type: "image/svg+xml", text: pageIcon },
  }),
);

/** Nothing inline and nothing from elsewhere; no frame may have the page. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

function respond(status: number, type: string, body: string): PageResponse {
  return {
    status,
    headers: {
      "cache-control": "no-store",
      "content-security-policy": policy,
      "content-type": type,
      "cross-origin-opener-policy": "same-origin",
      "cross-origin-resource-policy": "same-origin",
      "referrer-policy": "no-referrer",
      "x-content-type-options": "nosniff",
      "x-frame-options": "DENY",
    },
    body,
  };
}

function refusal(status: number, why: string): PageResponse {
  return respond(status, "text/plain; charset=utf-8", `${why}\n`);
}
