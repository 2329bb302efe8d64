import { bodyFormat, completedBody, kindInBody } from "../domain/gateway/own-object.ts";
import { type Refusal, refusal } from "../domain/gateway/refusal.ts";
import { valuesOfField } from "../domain/gateway/raw-headers.ts";
import type { ByteBudget } from "../runtime/body.ts";
import type { Exchange } from "../runtime/exchange.ts";
import type { AdmittedRequest } from "./admit-request.ts";
import { type BodyDeps, bodyOf } from "./request-body.ts";

/** The largest body that kube-apiserver reads (k8s.io/apiserver, MaxRequestBodyBytes). */
const mostBytes = 3 * 1024 * 1024;

/** Dependencies of {@link readOwnBody}. */
export interface OwnBodyDeps extends BodyDeps {
  /** Bounds the bodies that are read as a whole, all together. */
  readonly budget: ByteBudget;
}

/** A body that was read as a whole. */
export interface OwnBody {
  readonly kind: "body";
  readonly content: Buffer;
  /** To be called when the body was sent: it counts until then. */
  readonly release: () => void;
}

/** Longest time for a whole body; kube-apiserver gives up after the same. */
const wholeMs = 60_000;

/**
 * Whether the gateway completes the body of a request, and so reads it as a whole; a connected
 * cluster gets every body as it was sent.
 */
export function completesBody(
  { upstream, request, framing }: Pick<AdmittedRequest, "upstream" | "request" | "framing">,
  { head }: Pick<Exchange, "head">,
): boolean {
  return (
    upstream.kind === "management" &&
    framing.kind === "body" &&
    kindInBody(request) !== undefined &&
    formatOf(head) !== undefined &&
    valuesOfField(head.rawHeaders, "content-encoding").length === 0
  );
}

/**
 * Reads the body of an object of Latchkey's kinds as a whole and completes it. Rejects when the
 * client ends the request or is too slow.
 */
export async function readOwnBody(
  exchange: Exchange,
  { request }: Pick<AdmittedRequest, "request">,
  deps: OwnBodyDeps,
): Promise<OwnBody | Refusal> {
  const [kind, format] = [kindInBody(request), formatOf(exchange.head)];
  if (kind === undefined || format === undefined) throw new Error("not an object of Latchkey");
  let size = 0;
  const take = (bytes: number): boolean => {
    const isTaken = deps.budget.take(bytes);
    if (isTaken) size += bytes;
    return isTaken;
  };
  const release = (): void => {
    deps.budget.give(size);
    size = 0;
  };
  let read: OwnBody | Refusal | undefined;
  try {
    const sent = await readWhole(exchange, deps, take);
    read = Buffer.isBuffer(sent) ? ownBody(sent, { kind, format, release }) : sent;
    return read;
  } finally {
    if (read?.kind !== "body") release();
  }
}

async function readWhole(
  exchange: Exchange,
  deps: OwnBodyDeps,
  take: (bytes: number) => boolean,
): Promise<Buffer | Refusal> {
  const late = Promise.withResolvers<never>();
  const cancel = deps.clock.wakeAfter(wholeMs, () => {
    deps.onLate();
    late.reject(new Error("the body took too long"));
  });
  const chunks: Uint8Array[] = [];
  let size = 0;
  const body = bodyOf(exchange, deps);
  try {
    for (;;) {
      const part = await Promise.race([body.next(), late.promise]);
      if (part.done === true) return Buffer.concat(chunks);
      size += part.value.length;
      if (size > mostBytes)
        return refusal(413, "too-large", "the body of the request is larger than 3 MiB");
      if (!take(part.value.length))
        return refusal(429, "limit", "the gateway reads too many bodies at a time; retry");
      chunks.push(part.value);
    }
  } finally {
    cancel();
    void body.return(undefined);
  }
}

function ownBody(
  sent: Buffer,
  { kind, format, release }: Parameters<typeof completedBody>[1] & Pick<OwnBody, "release">,
): OwnBody | Refusal {
  const text = sent.toString("utf8");
  const completed = completedBody(text, { format, kind });
  if (completed.kind === "malformed") return refusal(400, "malformed", completed.reason);
  const content = completed.text === text ? sent : Buffer.from(completed.text);
  return { kind: "body", content, release };
}

function formatOf({ rawHeaders }: Exchange["head"]): ReturnType<typeof bodyFormat> {
  return bodyFormat(valuesOfField(rawHeaders, "content-type")[0]);
}
