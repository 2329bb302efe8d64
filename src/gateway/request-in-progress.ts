import {
  displaced,
  fullRefusal,
  inFlightGroup,
  type InFlightKind,
  type InFlightLimits,
  type LimitOptions,
  roomFor,
  isStream,
} from "../domain/gateway/in-flight-limits.ts";
import { gatewayStops, type Refusal } from "../domain/gateway/refusal.ts";
import type { Exchange } from "../runtime/exchange.ts";
import type { Logger } from "../runtime/log.ts";
import {
  type AdmittedRequest,
  type AdmitRequestDeps,
  authorizeAgain,
  type Entry,
  type UnderstoodRequest,
} from "./admit-request.ts";
import { type Credential, type Decision, refusalOf } from "./credential.ts";
import type { ForwardResult } from "./forward-state.ts";
import type { GatewayMetrics } from "./gateway-metrics.ts";
import type { InFlightRequest, InFlightRequests } from "./in-flight-requests.ts";

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
type Forwarded = Pick<InFlightRequest, "cut" | "end" | "giveWay"> & {
  start(): Promise<void> | void;
};

/** What following a request needs. */
export interface RequestInProgressDeps extends Pick<AdmitRequestDeps, "findUpstream"> {
  readonly inFlight: InFlightRequests;
  readonly limits: InFlightLimits;
  readonly metrics: GatewayMetrics;
  readonly log: Logger;
}

/** A reason of its own: AbortController makes one with a stack, which costs more than a refusal. */
const isOver = new Error("the request is over");

/**
 * A request from its head to its end. It counts from the moment at which its credential is known,
 * so also while it waits for the decision about it.
 */
export class RequestInProgress implements Entry, InFlightRequest {
  kind: InFlightKind = "answer";
  keyId = "";
  username = "";
  readonly #deps: RequestInProgressDeps;
  readonly #writer: ResponseWriter;
  #left: AbortController | undefined;
  #credential: Credential | undefined;
  #admitted: AdmittedRequest | undefined;
  #forwarded: Forwarded | undefined;
  #leave = (): void => {};
  #isOver = false;

  constructor(deps: RequestInProgressDeps, writer: ResponseWriter) {
    [this.#deps, this.#writer] = [deps, writer];
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  accepted(username: string): void {
    this.#writer.accepted(username);
  }

  enter(
    understood: Pick<UnderstoodRequest, "request" | "target">,
    credential: Credential,
  ): Refusal | AbortSignal {
    this.kind = this.#kindOf(understood);
    this.keyId = credential.id;
    this.username = credential.user.username;
    const problem = this.#problem(credential.noun);
    if (problem !== undefined) return problem;
    this.#credential = credential;
    this.#leave = this.#deps.inFlight.add(this);
    this.#left = new AbortController();
    this.#writer.onClose(() => {
      if (this.#forwarded === undefined) this.#over();
    });
    return this.#left.signal;
  }

  /** Forwards it; undefined if the client has left. */
  forward(admitted: AdmittedRequest): Forwarded | undefined {
    const { metrics, log } = this.#deps;
    this.#admitted = admitted;
    const forwarded = this.#writer.forward(admitted, (result) => {
      this.#over();
      metrics.answered(admitted.request.verb, result.status);
      log.debug({ ...summaryOf(admitted), keyId: this.keyId, ...result }, "gateway request ended");
    });
    if (this.#isOver) return undefined;
    this.#forwarded = forwarded;
    return forwarded;
  }

  /** Answers it instead of forwarding it. */
  refuse(refused: Refusal): void {
    if (this.#isOver) return;
    const { metrics, log } = this.#deps;
    this.#over();
    metrics.refused(refused.cause, refused.status);
    log.debug({ status: refused.status, cause: refused.cause }, "gateway request refused");
    this.#writer.refuse(refused);
  }

  decide(): Decision {
    return this.#admitted === undefined
      ? { kind: "no-opinion" }
      : authorizeAgain(this.#admitted, this.#deps);
  }

  endsAt(): number {
    return this.#credential?.endsAt() ?? Infinity;
  }

  end(): void {
    if (this.#forwarded !== undefined) this.#forwarded.end();
    else this.refuse(gatewayStops);
  }

  giveWay(): boolean {
    if (this.#forwarded !== undefined) return this.#forwarded.giveWay();
    this.refuse(displaced);
    return true;
  }

  cut(decision: Decision): void {
    if (this.#forwarded !== undefined) this.#forwarded.cut(decision);
    else if (this.#credential !== undefined) this.refuse(refusalOf(decision, this.#credential));
  }

  #kindOf({ request, target }: Pick<UnderstoodRequest, "request" | "target">): InFlightKind {
    if (this.#writer.head.isUpgrade) return "upgrade";
    return isStream(request, target.query) ? "stream" : "answer";
  }

  /** Why there is no room for it, once a request of another user was ended if that makes room. */
  #problem(noun: LimitOptions["noun"]): Refusal | undefined {
    const { inFlight, limits } = this.#deps;
    const terms = { group: inFlightGroup(this.kind), limits, noun };
    const room = roomFor(inFlight.loadOf(terms.group, this), terms);
    if (room === "free" || (room === "displace" && inFlight.displace(terms.group)))
      return undefined;
    return room === "displace" ? fullRefusal("all", terms) : room;
  }

  #over(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#leave();
    if (this.#forwarded === undefined) this.#left?.abort(isOver);
  }
}

/** What of a request may be logged: no target, query, header or body. */
function summaryOf({ request }: AdmittedRequest): Readonly<Record<string, string>> {
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
