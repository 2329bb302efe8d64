import { displaced } from "../domain/gateway/in-flight-limits.ts";
import { forwardedHeaders } from "../domain/gateway/forwarded-headers.ts";
import { fieldsNamed, valuesOfField } from "../domain/gateway/raw-headers.ts";
import { gatewayStops, type Refusal, refusal } from "../domain/gateway/refusal.ts";
import { responseHeaders } from "../domain/gateway/response-headers.ts";
import type { ForwardedRequest, Forwarding } from "../kube/forward/forwarder.ts";
import { ByteCollector } from "../runtime/byte-collector.ts";
import type { Exchange } from "../runtime/exchange.ts";
import type { AdmittedRequest } from "./admit-request.ts";
import { type Decision, refusalOf } from "./credential.ts";
import { type ForwardDeps, ForwardState, refusalOfFailure } from "./forward-state.ts";
import { OwnBodyReader } from "./own-body.ts";
import { sendRefusal } from "./send-refusal.ts";

/** A whole answer of the API server, or of the gateway. */
export interface WholeAnswer {
  readonly kind: "answer";
  readonly status: number;
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
}

/** A request to the API server in the name of the client. */
interface WholeRequest extends Pick<ForwardedRequest, "method" | "target"> {
  readonly user?: AdmittedRequest["user"];
  readonly accept?: string;
  readonly body?: Buffer;
  readonly contentType?: string;
}

/** Maximum size of an answer; an object with its token has some 10 KiB. */
const mostAnswerBytes = 4 * 1024 * 1024;
/** Maximum time of a whole answer, in milliseconds. */
const longestAnswerMs = 75_000;

const answerTooLarge = refusal(
  502,
  "upstream",
  `the answer of the API server is larger than ${mostAnswerBytes} bytes`,
);

/** A reason of its own: AbortController makes one with a stack. */
const requestIsOver = new Error("the request is over");

/**
 * An admitted request that the gateway answers itself, out of whole answers of the API server, and
 * whose body it reads as a whole.
 */
export abstract class WholeExchange {
  protected readonly exchange: Exchange;
  protected readonly admitted: AdmittedRequest;
  protected readonly deps: ForwardDeps;
  /** Aborts when the request is over, whatever is still waited for. */
  protected readonly left = new AbortController();
  protected readonly body: OwnBodyReader;
  /** Whether the API server may have done what the client asks. */
  protected mayBeDone = false;
  readonly #state: ForwardState;
  #forwarding: Forwarding | undefined;

  constructor(exchange: Exchange, admitted: AdmittedRequest, deps: ForwardDeps) {
    [this.exchange, this.admitted, this.deps] = [exchange, admitted, deps];
    this.body = new OwnBodyReader(admitted, deps);
    this.#state = new ForwardState({
      refuse: (refused) => sendRefusal(exchange, refused),
      abort: () => exchange.abort(),
      release: () => {
        this.left.abort(requestIsOver);
        this.#forwarding?.abort();
        this.body.end();
      },
      onEnd: deps.onEnd,
    });
    exchange.onClose(() => this.#state.closed());
  }

  /** The answer to the request. */
  protected abstract reply(): Promise<WholeAnswer | Refusal>;

  protected get isOver(): boolean {
    return this.#state.isOver;
  }

  /** Reads the request and answers it. */
  async start(): Promise<void> {
    try {
      const reply = await this.reply();
      if (reply.kind === "refusal") this.#state.refuse(reply);
      else this.#answer(reply);
    } catch (error) {
      const refused = error instanceof NoAnswer ? error.refused : refusalOfFailure("unreachable");
      this.#state.refuse(refused);
    }
  }

  /** Ends the wait because the key or its scope allows it no more; what was made stays. */
  cut(decision: Decision): void {
    this.#state.refuse(refusalOf(decision, this.admitted.credential), "cut");
  }

  /** Ends the wait of a gateway that stops. */
  end(): void {
    this.#state.refuse(gatewayStops, "cut");
  }

  /** Makes room for another user, unless something may be done. */
  giveWay(): boolean {
    if (this.mayBeDone || !(this.#forwarding?.isWaiting ?? true)) return false;
    this.#state.refuse(displaced);
    return true;
  }

  /** Sends a request, and reads its answer whole, within its bounds. */
  protected collect({
    method,
    target,
    user = this.admitted.user,
    accept = "application/json",
    body,
    contentType,
  }: WholeRequest): Promise<WholeAnswer> {
    const { sharer } = this.admitted;
    const sent = forwardedHeaders(this.exchange.head, { ...this.admitted, user });
    const own = ["accept", "accept-encoding", "content-type"];
    const headers = fieldsNamed(sent, (name) => !own.includes(name));
    const type = contentType ?? valuesOfField(sent, "content-type")[0] ?? "application/json";
    return this.#exchangeWhole({
      method,
      target,
      body,
      sharer,
      kind: "answer",
      isProxied: false,
      headers: [
        ...headers,
        ...["accept", accept],
        ...(body === undefined ? [] : ["content-type", type]),
      ],
    });
  }

  #exchangeWhole(request: ForwardedRequest): Promise<WholeAnswer> {
    const { clock } = this.deps;
    const { promise, resolve, reject } = Promise.withResolvers<WholeAnswer>();
    if (this.#state.isOver) return Promise.reject(new Error("over"));
    let [status, rawHeaders]: [number, readonly string[]] = [0, []];
    const body = new ByteCollector(mostAnswerBytes);
    const giveUp = (refused: Refusal): void => {
      reject(new NoAnswer(refused));
      forwarding.abort();
    };
    const cancel = clock.wakeAfter(longestAnswerMs, () => giveUp(refusalOfFailure("timeout")));
    const forwarding = this.admitted.server.forwarder.forward(request, {
      onHead: (code, raw) => void ([status, rawHeaders] = [code, raw]),
      onData(chunk) {
        if (!body.add(chunk)) giveUp(answerTooLarge);
        return true;
      },
      onEnd: () => resolve({ kind: "answer", status, rawHeaders, body: body.take() }),
      onError: (failure) => reject(new NoAnswer(refusalOfFailure(failure))),
    });
    this.#forwarding = forwarding;
    return promise.finally(cancel);
  }

  #answer({ status, rawHeaders, body }: WholeAnswer): void {
    if (this.#state.isOver) return;
    const headers = responseHeaders(rawHeaders, { ...this.admitted.target, isProxied: false });
    const others = fieldsNamed(headers ?? [], (name) => name !== "content-length");
    this.#state.status = status;
    this.exchange.respond(status, [...others, "content-length", String(body.length)]);
    this.#state.isEnded = true;
    this.exchange.write(body);
    this.exchange.end();
  }
}

/** A request that got no whole answer. */
class NoAnswer extends Error {
  readonly refused: Refusal;

  constructor(refused: Refusal) {
    super(refused.message);
    this.refused = refused;
  }
}
