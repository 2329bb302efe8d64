import { type Refusal, refusal, type RefusalCause } from "../domain/gateway/refusal.ts";
import type { ForwardFailure } from "../kube/forward/forwarder.ts";
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

/** What carries a forwarded request and its answer. */
interface ForwardCarrier {
  /** Answers a client that has got nothing yet. */
  refuse(refused: Refusal): void;
  /** Breaks off, so that the client cannot take what it got for whole. */
  abort(): void;
  /** Gives back all that the request holds; called once. */
  release(): void;
  onEnd(result: ForwardResult): void;
}

/** What the client of a forwarded request got so far, until the request is over. */
export class ForwardState {
  /** The status that the client got; 0 if it got none. */
  status = 0;
  /** Whether everything was written to the client. */
  isEnded = false;
  readonly #carrier: ForwardCarrier;
  #isOver = false;

  constructor(carrier: ForwardCarrier) {
    this.#carrier = carrier;
  }

  /** Whether its end was reported, and nothing is to be done for it any more. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Answers instead of the API server, or breaks off an answer that has begun. */
  refuse(refused: Refusal, cause: ForwardResult["cause"] = refused.cause): void {
    if (this.#isOver) return;
    if (this.status !== 0) return this.abort(cause);
    this.status = refused.status;
    this.isEnded = true;
    this.#carrier.refuse(refused);
    this.finish(cause);
  }

  /** Breaks off. */
  abort(cause: ForwardResult["cause"]): void {
    if (this.#isOver) return;
    this.#carrier.abort();
    this.finish(cause);
  }

  /** The client has left, or has closed after it got everything. */
  closed(): void {
    this.finish(this.isEnded ? "answered" : "client");
  }

  /** Reports the end of the request; may be called again. */
  finish(cause: ForwardResult["cause"]): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#carrier.release();
    this.#carrier.onEnd({ status: this.status, cause });
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
