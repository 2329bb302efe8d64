import { resources } from "../api/resources.ts";
import { forwardedHeaders } from "../domain/gateway/forwarded-headers.ts";
import { displaced } from "../domain/gateway/in-flight-limits.ts";
import { fieldsOf, valuesOfField } from "../domain/gateway/raw-headers.ts";
import { gatewayStops, type Refusal, refusal } from "../domain/gateway/refusal.ts";
import { responseHeaders } from "../domain/gateway/response-headers.ts";
import { isMintOver, nameOfObject } from "../domain/gateway/token-mint.ts";
import { objectPath } from "../kube/client/paths.ts";
import type { ForwardedRequest, Forwarding } from "../kube/forward/forwarder.ts";
import { ByteCollector } from "../runtime/byte-collector.ts";
import { sleep } from "../runtime/clock.ts";
import type { Exchange } from "../runtime/exchange.ts";
import type { AdmittedRequest } from "./admit-request.ts";
import { type Decision, refusalOf } from "./credential.ts";
import { type ForwardDeps, ForwardState, refusalOfFailure } from "./forward-state.ts";
import { type OwnBody, OwnBodyReader } from "./own-body.ts";
import { sendRefusal } from "./send-refusal.ts";

/** A whole answer of the API server. */
interface Collected {
  readonly status: number;
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
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

/** Pauses between two looks at the object, in milliseconds; the last one repeats. */
const pausesMs = [20, 40, 80, 100, 100, 100, 100, 250];
const longestWaitMs = 30_000;

/**
 * Creates a DirectClusterEndpointToken and answers once it has its token (specification, "HTTP
 * interface"), at the latest after 30 seconds. The gateway needs no right to tokens: it reads the
 * object as the requester.
 */
export class TokenMint {
  readonly #exchange: Exchange;
  readonly #admitted: AdmittedRequest;
  readonly #deps: ForwardDeps;
  readonly #ownBody: OwnBodyReader;
  readonly #state: ForwardState;
  #forwarding: Forwarding | undefined;
  #mayExist = false;

  constructor(exchange: Exchange, admitted: AdmittedRequest, deps: ForwardDeps) {
    [this.#exchange, this.#admitted, this.#deps] = [exchange, admitted, deps];
    this.#ownBody = new OwnBodyReader(admitted, deps);
    this.#state = new ForwardState({
      refuse: (refused) => sendRefusal(exchange, refused),
      abort: () => exchange.abort(),
      release: () => {
        this.#forwarding?.abort();
        this.#ownBody.end();
      },
      onEnd: deps.onEnd,
    });
    exchange.onClose(() => this.#state.closed());
  }

  /** Sends the request, waits and answers. */
  async start(): Promise<void> {
    const body = await this.#ownBody.read(this.#exchange);
    if (body.kind === "refusal") return this.#state.refuse(body);
    try {
      this.#answer(await this.#mint(body));
    } catch (error) {
      const refused = error instanceof NoAnswer ? error.refused : refusalOfFailure("unreachable");
      this.#state.refuse(refused);
    }
  }

  /** Ends the wait because the key or its scope allows it no more; the object stays. */
  cut(decision: Decision): void {
    this.#state.refuse(refusalOf(decision, this.#admitted.credential), "cut");
  }

  /** Ends the wait of a gateway that stops. */
  end(): void {
    this.#state.refuse(gatewayStops, "cut");
  }

  /** Makes room for another user, unless the object may exist. */
  giveWay(): boolean {
    if (this.#mayExist || !(this.#forwarding?.isWaiting ?? true)) return false;
    this.#state.refuse(displaced);
    return true;
  }

  async #mint({ content }: OwnBody): Promise<Collected> {
    const { target } = this.#admitted;
    const created = await this.#collect("POST", target.path + target.query, { body: content });
    this.#mayExist = true;
    this.#ownBody.end();
    const object: unknown = created.status === 201 ? parsed(created.body) : undefined;
    const name = nameOfObject(object);
    if (name === undefined) return created;
    const path = objectPath(resources.endpointTokens, { name });
    // The object exists: a client that cannot read it gets what the API server answered to its
    // POST.
    const shown = await this.#minted(path).catch(() => undefined);
    return shown?.status === 200 ? { ...shown, status: 201 } : created;
  }

  async #minted(path: string): Promise<Collected | undefined> {
    const last = await this.#waitFor(path);
    const accept = valuesOfField(this.#exchange.head.rawHeaders, "accept")[0];
    const isPlain = accept === undefined || accept === "*/*" || accept === "application/json";
    return isPlain ? last : this.#collect("GET", path, { accept });
  }

  async #waitFor(path: string): Promise<Collected | undefined> {
    const { clock } = this.#deps;
    const late = new AbortController();
    const cancel = clock.wakeAfter(longestWaitMs, () => late.abort());
    let last: Collected | undefined;
    try {
      for (let look = 0; !this.#state.isOver && !late.signal.aborted; look += 1) {
        const pause = pausesMs[Math.min(look, pausesMs.length - 1)] ?? 0;
        await sleep(pause, { clock, signal: late.signal });
        last = await this.#collect("GET", path, {});
        if (last.status === 200 && isMintOver(parsed(last.body))) break;
      }
    } finally {
      cancel();
    }
    return last;
  }

  #collect(
    method: "GET" | "POST",
    target: string,
    { body, accept = "application/json" }: { readonly body?: Buffer; readonly accept?: string },
  ): Promise<Collected> {
    const { user, sharer } = this.#admitted;
    // Without the key's extras: no scope allows to read tokens, but this one is the answer.
    const asUser = method === "GET" ? { ...user, extra: {} } : user;
    const sent = forwardedHeaders(this.#exchange.head, { ...this.#admitted, user: asUser });
    const headers = fieldsOf(sent)
      .filter(([name]) => !["accept", "accept-encoding", "content-type"].includes(name))
      .flat();
    const contentType = valuesOfField(sent, "content-type")[0] ?? "application/json";
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
        ...(body === undefined ? [] : ["content-type", contentType]),
      ],
    });
  }

  /** Reads an answer whole, within its bounds. */
  #exchangeWhole(request: ForwardedRequest): Promise<Collected> {
    const { clock } = this.#deps;
    const { promise, resolve, reject } = Promise.withResolvers<Collected>();
    if (this.#state.isOver) return Promise.reject(new Error("over"));
    let [status, rawHeaders]: [number, readonly string[]] = [0, []];
    const body = new ByteCollector(mostAnswerBytes);
    const giveUp = (refused: Refusal): void => {
      reject(new NoAnswer(refused));
      forwarding.abort();
    };
    const cancel = clock.wakeAfter(longestAnswerMs, () => giveUp(refusalOfFailure("timeout")));
    const forwarding = this.#admitted.server.forwarder.forward(request, {
      onHead: (code, raw) => void ([status, rawHeaders] = [code, raw]),
      onData(chunk) {
        if (!body.add(chunk)) giveUp(answerTooLarge);
        return true;
      },
      onEnd: () => resolve({ status, rawHeaders, body: body.take() }),
      onError: (failure) => reject(new NoAnswer(refusalOfFailure(failure))),
    });
    this.#forwarding = forwarding;
    return promise.finally(cancel);
  }

  #answer({ status, rawHeaders, body }: Collected): void {
    if (this.#state.isOver) return;
    const headers = responseHeaders(rawHeaders, { ...this.#admitted.target, isProxied: false });
    const others = fieldsOf(headers ?? []).filter(([name]) => name !== "content-length");
    this.#state.status = status;
    this.#exchange.respond(status, [...others.flat(), "content-length", String(body.length)]);
    this.#state.isEnded = true;
    this.#exchange.write(body);
    this.#exchange.end();
  }
}

/** A request of a mint that got no whole answer. */
class NoAnswer extends Error {
  readonly refused: Refusal;

  constructor(refused: Refusal) {
    super(refused.message);
    this.refused = refused;
  }
}

function parsed(body: Buffer): unknown {
  try {
    const object: unknown = JSON.parse(body.toString("utf8"));
    return object;
  } catch {
    return undefined;
  }
}
