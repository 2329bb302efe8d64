import { type Refusal, refusal, type RefusalCause } from "../domain/gateway/refusal.ts";
import type { ForwardFailure } from "../kube/forward/forwarder.ts";
import type { AdmittedRequest } from "./admit-request.ts";
import { type Decision, refusalOf } from "./credential.ts";
import type { OwnBodyDeps } from "./own-body.ts";

/** How a forwarded request ended: the status that the client got, and why. */
export interface ForwardResult {
  /** 0 if the client got none. */
  readonly status: number;
  readonly cause: "answered" | "client" | "cut" | RefusalCause;
}

/** What forwarding an admitted request needs. */
export interface ForwardDeps extends OwnBodyDeps {
  /** Called once. */
  readonly onEnd: (result: ForwardResult) => void;
}

/** A reason of its own: AbortController makes one with a stack, which costs more than a refusal. */
export const requestIsOver = new Error("the request is over");

/** A forwarded request, and what its client got so far, until it is over. */
export abstract class OpenForward {
  protected readonly admitted: AdmittedRequest;
  protected readonly deps: ForwardDeps;
  /** The status that the client got; 0 if it got none. */
  protected status = 0;
  /** Whether everything was written to the client. */
  protected isEnded = false;
  #isOver = false;

  constructor(admitted: AdmittedRequest, deps: ForwardDeps) {
    [this.admitted, this.deps] = [admitted, deps];
  }

  /** Answers a client that has got nothing yet. */
  protected abstract answer(refused: Refusal): void;
  /** Breaks off, so that the client cannot take what it got for whole. */
  protected abstract breakOff(): void;
  /** Gives back all that the request holds; called once. */
  protected abstract release(): void;

  /** Ends the request because its key or scope allows it no more; what was made stays. */
  cut(decision: Decision): void {
    this.refuse(refusalOf(decision, this.admitted.credential), "cut");
  }

  /** Whether its end was reported, and nothing is to be done for it any more. */
  protected get isOver(): boolean {
    return this.#isOver;
  }

  /** Answers instead of the API server, or breaks off an answer that has begun. */
  protected refuse(refused: Refusal, cause: ForwardResult["cause"] = refused.cause): void {
    if (this.#isOver) return;
    if (this.status !== 0) return this.abort(cause);
    this.status = refused.status;
    this.isEnded = true;
    this.answer(refused);
    this.finish(cause);
  }

  /** Breaks off. */
  protected abort(cause: ForwardResult["cause"]): void {
    if (this.#isOver) return;
    this.breakOff();
    this.finish(cause);
  }

  /** The client has left, or has closed after it got everything. */
  protected closed(): void {
    this.finish(this.isEnded ? "answered" : "client");
  }

  /** Reports the end of the request; may be called again. */
  protected finish(cause: ForwardResult["cause"]): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.release();
    this.deps.onEnd({ status: this.status, cause });
  }
}

/** What a client gets when the API server gave no answer. */
export function refusalOfFailure(failure: ForwardFailure): Refusal {
  switch (failure) {
    case "busy":
      return refusal(503, "limit", "no connection to the API server became free in time; retry");
    case "timeout":
      return refusal(504, "timeout", "the API server did not answer in time");
    case "no-credential":
      return refusal(502, "upstream", "the gateway has no credential for the API server");
    case "unauthorized":
      return refusal(502, "upstream", "the API server rejected the gateway's credential; retry");
    case "proxy":
      return refusal(
        502,
        "upstream",
        "the proxy of the gateway let no connection to the API server through; " +
          "the log of the gateway has its answer",
      );
    case "unreachable":
    case "aborted":
      return refusal(502, "upstream", "the API server could not be reached");
  }
}

/** The answer to a redirect to another server, which is not followed. */
export const redirected = refusal(502, "upstream", "the API server redirected to another server");
