import { readingBounds } from "../api/reading-bounds.ts";
import { bodyPace } from "../domain/gateway/body-pace.ts";
import { type BodyUse, shapeProblem } from "../domain/gateway/body-shape.ts";
import {
  type BodyFormat,
  bodyFormat,
  completedBody,
  kindInBody,
} from "../domain/gateway/object-defaults.ts";
import { valuesOfField } from "../domain/gateway/raw-headers.ts";
import { type Refusal, refusal } from "../domain/gateway/refusal.ts";
import { longestWaitMs } from "../kube/forward/forwarder.ts";
import { ByteCollector } from "../runtime/byte-collector.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Exchange } from "../runtime/exchange.ts";
import { type Share, FairShares, type ShareLimits } from "../runtime/fair-shares.ts";
import type { AdmittedRequest } from "./admit-request.ts";
import { parsedBody } from "./parsed-body.ts";
import { pacedBody, bodyTooSlow } from "./request-body.ts";

const kibibyte = 1024;
const mebibyte = 1024 * kibibyte;

/** What reading bodies as a whole needs. */
export interface OwnBodyDeps {
  readonly clock: Clock;
  /** Bounds the bodies that are read as a whole, all together. */
  readonly bodies: BodyShares;
}

/** A request whose body may be read as a whole. */
type OwnBodyRequest = Pick<AdmittedRequest, "upstream" | "request" | "framing" | "sharer">;

/** A body that was read as a whole. */
export interface OwnBody {
  readonly kind: "body";
  readonly content: Buffer;
}

/**
 * Whether the gateway judges the body of a request, and so reads it as a whole; a connected cluster
 * gets every body as it was sent.
 */
export function readsBody({ upstream, request, framing }: OwnBodyRequest): boolean {
  const isCentral = upstream.kind === "management" || upstream.kind === "space";
  return isCentral && framing.kind === "body" && kindInBody(request) !== undefined;
}

/** Reads the body of a request as a whole, and judges that of an object of Latchkey's kinds. */
export class OwnBodyReader {
  readonly #admitted: OwnBodyRequest;
  readonly #deps: OwnBodyDeps;
  #share: Share | undefined;

  constructor(admitted: OwnBodyRequest, deps: OwnBodyDeps) {
    [this.#admitted, this.#deps] = [admitted, deps];
  }

  /** Reads it once there is room for its bytes; resolves with the reason if it is refused. */
  async read(exchange: Exchange): Promise<OwnBody | Refusal> {
    const { request } = this.#admitted;
    const kind = kindInBody(request);
    if (kind === undefined) throw new Error("not an object of Latchkey");
    const format = formatOf(exchange.head, request.verb);
    if (format === undefined) return unsupported;
    const read = await this.readWhole(exchange, readingBounds.bodyOfOwnKind.bytes);
    const body = read.kind === "body" ? judged(read.content, { kind, format }) : read;
    if (body.kind === "refusal") this.end();
    return body;
  }

  /** The same for a body of any kind, of at most so many bytes, which stays as it is. */
  async readWhole(exchange: Exchange, mostBytes: number): Promise<OwnBody | Refusal> {
    const { framing } = this.#admitted;
    const length = framing.kind === "body" ? framing.length : 0;
    if (length !== undefined && length > mostBytes) return tooLarge(mostBytes);
    // A body whose length is not known may become as large as any.
    if (!(await this.#hasRoom(length ?? mostBytes))) return tooMany;
    const body = await this.#whole(exchange, mostBytes);
    if (body.kind === "refusal") this.end();
    return body;
  }

  /** Gives its bytes back: they count until the body was sent. */
  end(): void {
    this.#share?.end();
  }

  #hasRoom(bytes: number): Promise<boolean> {
    const { bodies, clock } = this.#deps;
    const room = bytes <= smallBodyBytes ? bodies.small : bodies.large;
    const share = room.ask(this.#admitted.sharer, bytes);
    this.#share = share;
    return new Promise((resolve) => {
      share.enter(() => resolve(true));
      share.giveUpAfter(longestWaitMs, clock, () => resolve(false));
    });
  }

  async #whole(exchange: Exchange, mostBytes: number): Promise<OwnBody | Refusal> {
    let isLate = false;
    const onLate = (): void => void (isLate = true);
    const body = pacedBody(exchange, { clock: this.#deps.clock, pace: bodyPace, onLate });
    const bytes = new ByteCollector(mostBytes);
    try {
      for await (const chunk of body) if (!bytes.add(chunk)) return tooLarge(mostBytes);
    } catch {
      return isLate
        ? bodyTooSlow
        : refusal(400, "malformed", "the body of the request did not arrive");
    }
    return { kind: "body", content: bytes.take() };
  }
}

function tooLarge(mostBytes: number): Refusal {
  const kibibytes = `${mostBytes / kibibyte} KiB`;
  const size = mostBytes < mebibyte ? kibibytes : `${mostBytes / mebibyte} MiB`;
  return refusal(413, "too-large", `the body of the request is larger than ${size}`);
}

const tooMany = refusal(429, "limit", "the gateway reads too many bodies at a time; retry");

const unsupported = refusal(
  415,
  "malformed",
  "the gateway reads objects of this kind in application/json and application/yaml, and patches " +
    "in application/apply-patch+yaml, application/merge-patch+json and " +
    "application/json-patch+json, without Content-Encoding",
);

function judged(sent: Buffer, { kind, format }: BodyUse): OwnBody | Refusal {
  const text = sent.toString("utf8");
  const isWhole = format === "json" || format === "yaml";
  const body = isWhole ? completedBody(text, { format, kind }) : ({ kind: "body", text } as const);
  if (body.kind === "malformed") return refusal(400, "malformed", body.reason);
  const isYaml = format === "yaml" || format === "apply";
  const problem = shapeProblem(parsedBody(text, isYaml), { kind, format });
  if (problem !== undefined) return refusal(422, "malformed", problem);
  return { kind: "body", content: body.text === text ? sent : Buffer.from(body.text) };
}

/** The format of a body that is read; undefined for any other, and for one that is compressed. */
function formatOf({ rawHeaders }: Exchange["head"], verb: string): BodyFormat | undefined {
  if (valuesOfField(rawHeaders, "content-encoding").length > 0) return undefined;
  return bodyFormat(verb, valuesOfField(rawHeaders, "content-type")[0]);
}

/** Bodies of this size do not wait for larger ones. */
export const smallBodyBytes = 64 * kibibyte;

/** The bytes of the bodies that are read as a whole, those in progress all together. */
export const bodyLimits = {
  small: { all: 16 * mebibyte, user: 8 * mebibyte, key: 8 * mebibyte },
  large: { all: 48 * mebibyte, user: 16 * mebibyte, key: 8 * mebibyte },
} as const satisfies Record<string, Required<ShareLimits>>;

/** The room for small and for large bodies, each shared by users and keys. */
export interface BodyShares {
  readonly small: FairShares;
  readonly large: FairShares;
}

/** Makes the room for bodies of a replica. */
export function bodyShares(): BodyShares {
  return { small: new FairShares(bodyLimits.small), large: new FairShares(bodyLimits.large) };
}
