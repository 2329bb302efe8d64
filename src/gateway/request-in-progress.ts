import {
  displaced,
  fullRefusal,
  inFlightGroup,
  type InFlightKind,
  type InFlightLimits,
  isStream,
  roomFor,
} from "../domain/gateway/in-flight-limits.ts";
import { gatewayStops, internalError, type Refusal } from "../domain/gateway/refusal.ts";
import type { Leaving } from "../runtime/clock.ts";
import type { Exchange } from "../runtime/exchange.ts";
import type { Sharer } from "../runtime/fair-shares.ts";
import type { LogFields, Logger } from "../runtime/log.ts";
import {
  type AdmittedRequest,
  authorizeAgain,
  authorizeRequest,
  type GatewayFront,
  type IdentifiedRequest,
} from "./admit-request.ts";
import { type Decision, refusalOf } from "./credential.ts";
import { type ForwardResult, requestIsOver } from "./forward-state.ts";
import type { GatewayMetrics } from "./gateway-metrics.ts";
import type { InFlightRequest, InFlightRequests } from "./in-flight-requests.ts";
import type { OwnBodyDeps } from "./own-body.ts";

/** What all requests to a front share. */
export interface GatewayContext extends GatewayFront, OwnBodyDeps {
  readonly inFlight: InFlightRequests;
  readonly limits: InFlightLimits;
  readonly metrics: GatewayMetrics;
  readonly log: Logger;
}

/**
 * What carries a request and its answer: an exchange, or a connection that changes its protocol.
 */
export interface ResponseWriter {
  readonly head: Exchange["head"];
  /** Records that a credential of this user was accepted. */
  accepted(username: string): void;
  refuse(refused: Refusal): void;
  forward(admitted: AdmittedRequest, onEnd: (result: ForwardResult) => void): Forwarded;
  /** Calls a listener once the client has left, or at once if it has. */
  onClose(listener: () => void): void;
}

/** A request on its way to the API server. */
interface Forwarded extends Pick<InFlightRequest, "cut" | "end" | "giveWay"> {
  start(): Promise<void> | void;
}

/** Where a request stands. */
type RequestState =
  | { readonly kind: "deciding" | "over" }
  | {
      readonly kind: "forwarded";
      readonly admitted: AdmittedRequest;
      readonly forwarded: Forwarded;
    };

const over: RequestState = { kind: "over" };

/** Answers a request instead of forwarding it. */
export function refuseRequest(
  refused: Refusal,
  writer: ResponseWriter,
  { metrics, log }: GatewayContext,
): void {
  metrics.refused(refused.cause, refused.status);
  log.debug({ status: refused.status, reason: refused.cause }, "gateway request refused");
  writer.refuse(refused);
}

/**
 * Counts a request from the moment at which its credential is known, so also while it waits for the
 * decision about it. Returns why there is no room for it, once a request of another user was ended
 * if that makes room.
 */
export function enterRequest(
  identified: IdentifiedRequest,
  writer: ResponseWriter,
  context: GatewayContext,
): RequestInProgress | Refusal {
  const { credential, request, sharer, target } = identified;
  const { inFlight, limits } = context;
  const answerKind = isStream(request, target.query) ? "stream" : "answer";
  const kind = writer.head.isUpgrade ? "upgrade" : answerKind;
  const terms = { group: inFlightGroup(kind), limits, noun: credential.noun };
  const room = roomFor(inFlight.loadOf(terms.group, sharer), terms);
  if (room === "displace" && !inFlight.displace(terms.group)) return fullRefusal("all", terms);
  if (typeof room === "object") return room;
  return new RequestInProgress({ kind, identified }, writer, context);
}

/** A request of a valid credential, to its end. */
class RequestInProgress implements InFlightRequest, Leaving {
  readonly kind: InFlightKind;
  readonly #identified: IdentifiedRequest;
  readonly #writer: ResponseWriter;
  readonly #context: GatewayContext;
  readonly #leave: () => void;
  #left: AbortController | undefined;
  #state: RequestState = { kind: "deciding" };

  constructor(
    { kind, identified }: { readonly kind: InFlightKind; readonly identified: IdentifiedRequest },
    writer: ResponseWriter,
    context: GatewayContext,
  ) {
    [this.kind, this.#identified] = [kind, identified];
    [this.#writer, this.#context] = [writer, context];
    this.#leave = context.inFlight.add(this);
    writer.onClose(() => {
      if (this.#state.kind === "deciding") this.#over();
    });
  }

  get sharer(): Sharer {
    return this.#identified.sharer;
  }

  get #isOver(): boolean {
    return this.#state.kind === "over";
  }

  /** Aborts when it is over before it was admitted; few requests wait for anything. */
  get signal(): AbortSignal {
    this.#left ??= new AbortController();
    if (this.#isOver) this.#left.abort(requestIsOver);
    return this.#left.signal;
  }

  /** Decides about it, and forwards it or answers it; `began` is when its head was read. */
  async start(began: number): Promise<void> {
    const { clock, metrics, log } = this.#context;
    try {
      const admitted = await authorizeRequest(this.#identified, this.#context, this);
      if (this.#isOver) return;
      if (admitted.kind === "refusal") return this.refuse(admitted);
      const forwarded = this.#forward(admitted);
      metrics.overhead((clock.monotonic() - began) / 1000);
      await forwarded?.start();
    } catch (error) {
      // What waits for a request that is over ends with an error.
      if (this.#isOver) return;
      log.error({ error }, "gateway request failed");
      this.refuse(internalError);
    }
  }

  /** Forwards it; undefined if the client has left. */
  #forward(admitted: AdmittedRequest): Forwarded | undefined {
    const { metrics, log } = this.#context;
    const forwarded = this.#writer.forward(admitted, (result) => {
      this.#over();
      metrics.answered(admitted.request.verb, result.status);
      const keyId = this.sharer.key;
      log.debug({ ...summaryOf(admitted), keyId, ...result }, "gateway request ended");
    });
    if (this.#isOver) return undefined;
    this.#state = { kind: "forwarded", admitted, forwarded };
    return forwarded;
  }

  /** Answers it instead of forwarding it. */
  refuse(refused: Refusal): void {
    if (this.#isOver) return;
    this.#over();
    refuseRequest(refused, this.#writer, this.#context);
  }

  decide(): Decision {
    return this.#state.kind === "forwarded"
      ? authorizeAgain(this.#state.admitted, this.#context)
      : { kind: "no-opinion" };
  }

  endsAt(): number {
    return this.#identified.credential.endsAt();
  }

  end(): void {
    if (this.#state.kind === "forwarded") this.#state.forwarded.end();
    else this.refuse(gatewayStops);
  }

  giveWay(): boolean {
    if (this.#state.kind === "forwarded") return this.#state.forwarded.giveWay();
    this.refuse(displaced);
    return true;
  }

  cut(decision: Decision): void {
    if (this.#state.kind === "forwarded") this.#state.forwarded.cut(decision);
    else this.refuse(refusalOf(decision, this.#identified.credential));
  }

  #over(): void {
    const { kind } = this.#state;
    if (kind === "over") return;
    this.#state = over;
    this.#leave();
    if (kind === "deciding") this.#left?.abort(requestIsOver);
  }
}

/** What of a request may be logged: no target, query, header or body. */
function summaryOf({ request }: AdmittedRequest): LogFields {
  return request.kind === "path"
    ? { verb: request.verb }
    : {
        verb: request.verb,
        group: request.group,
        resource: request.resource,
        subresource: request.subresource,
        namespace: request.namespace,
      };
}
