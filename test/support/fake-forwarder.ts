import type {
  ForwardedRequest,
  ForwardHandler,
  Forwarder,
  Forwarding,
} from "../../src/kube/forward/forwarder.ts";
import { withLowerNames } from "../../src/runtime/exchange.ts";

/** A request that was given to a fake forwarder. */
export interface FakeForwarding extends Forwarding {
  readonly request: ForwardedRequest;
  /** Answers, as the API server would. */
  readonly handler: ForwardHandler;
  isAborted: boolean;
  /** May be changed. */
  isWaiting: boolean;
  resumes: number;
  /** A head with JSON, some text and, unless `isOpen`, the end. */
  answer(status: number, text?: string, options?: FakeAnswerOptions): void;
}

/** What a fake answer is beside its status and text. */
export interface FakeAnswerOptions {
  readonly headers?: readonly string[];
  readonly isOpen?: boolean;
}

/** A forwarder without an API server: the test answers. */
export interface FakeForwarder extends Forwarder {
  readonly forwardings: readonly FakeForwarding[];
  /** The last of them. */
  last(): FakeForwarding;
}

/** Makes a forwarder that records what it is given. */
export function fakeForwarder(): FakeForwarder {
  const forwardings: FakeForwarding[] = [];
  return {
    forwardings,
    last() {
      const last = forwardings.at(-1);
      if (last === undefined) throw new Error("nothing was forwarded");
      return last;
    },
    forward(request, handler) {
      const forwarding: FakeForwarding = {
        request,
        handler,
        isAborted: false,
        isWaiting: false,
        resumes: 0,
        answer(status, text = "{}\n", { headers = [], isOpen = false } = {}) {
          handler.onHead(status, withLowerNames(["content-type", "application/json", ...headers]));
          if (text !== "") handler.onData(Buffer.from(text));
          if (!isOpen) handler.onEnd();
        },
        resume: () => void (forwarding.resumes += 1),
        abort() {
          if (forwarding.isAborted) return;
          forwarding.isAborted = true;
          handler.onError("aborted");
        },
      };
      forwardings.push(forwarding);
      return forwarding;
    },
    waiting: () => 0,
    close: () => Promise.resolve(),
  };
}
