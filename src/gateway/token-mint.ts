import { resources } from "../api/resources.ts";
import { displaced } from "../domain/gateway/in-flight-limits.ts";
import { fieldsOf, valuesOfField } from "../domain/gateway/raw-headers.ts";
import { type Refusal, refusal } from "../domain/gateway/refusal.ts";
import { responseHeaders } from "../domain/gateway/response-headers.ts";
import { isMintOver, nameOfObject } from "../domain/gateway/token-mint.ts";
import { objectPath } from "../kube/client/paths.ts";
import type { ForwardedRequest, Forwarding } from "../kube/forward/forwarder.ts";
import { ByteCollector } from "../runtime/byte-collector.ts";
import { sleep } from "../runtime/clock.ts";
import type { Exchange } from "../runtime/exchange.ts";
import type { AdmittedRequest } from "./admit-request.ts";
import { type Decision, refusalOf } from "./credential.ts";
import {
  type ForwardDeps,
  type ForwardResult,
  headersFor,
  refusalOfFailure,
  sharerOf,
} from "./forwarding.ts";
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
const pausesMs = [20, 40, 80, 100];
const longestWaitMs = 10_000;

/**
 * Creates a DirectClusterEndpointToken and answers once it has its token (specification, "HTTP
 * interface"), at the latest after 10 seconds. The gateway needs no right to tokens: it reads the
 * object as the requester.
 */
export class TokenMint {
  readonly #exchange: Exchange;
  readonly #admitted: AdmittedRequest;
  readonly #deps: ForwardDeps;
  readonly #ownBody: OwnBodyReader;
  #forwarding: Forwarding | undefined;
  #status = 0;
  #mayExist = false;
  #isOver = false;
  #isEnded = false;

  constructor(exchange: Exchange, admitted: AdmittedRequest, deps: ForwardDeps) {
    [this.#exchange, this.#admitted, this.#deps] = [exchange, admitted, deps];
    this.#ownBody = new OwnBodyReader({ ...deps, sharer: sharerOf(admitted) });
    exchange.onClose(() => this.#finish(this.#isEnded ? "answered" : "client"));
  }

  /** Sends the request, waits and answers. */
  async start(): Promise<void> {
    const body = await this.#ownBody.read(this.#exchange, this.#admitted);
    if (body.kind === "refusal") return this.#refuse(body);
    try {
      this.#answer(await this.#mint(body));
    } catch (error) {
      this.#refuse(error instanceof NoAnswer ? error.refused : refusalOfFailure("unreachable"));
    }
  }

  /** Ends the wait because the key or its scope allows it no more; the object stays. */
  cut(decision: Decision): void {
    this.#refuse(refusalOf(decision, this.#admitted.credential), "cut");
  }

  /** Ends the wait of a gateway that stops. */
  end(): void {
    this.#refuse(refusal(503, "not-ready", "the gateway stops; retry"), "cut");
  }

  /** Makes room for another user, unless the object may exist. */
  giveWay(): boolean {
    if (this.#mayExist || !(this.#forwarding?.isWaiting ?? true)) return false;
    this.#refuse(displaced);
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
      for (let look = 0; !this.#isOver && !late.signal.aborted; look += 1) {
        const pause = pausesMs[Math.min(look, pausesMs.length - 1)] ?? 100;
        await sleep(pause, { clock, signal: late.signal });
        last = await this.#collect("GET", path, {});
        if (last.status === 200 && isMintOver(parsed(last.body))) break;
      }
    } finally {
      cancel();
    }
    return last;
  }

  /** Reads an answer whole, within its bounds. */
  async #collect(
    method: "GET" | "POST",
    target: string,
    { body, accept = "application/json" }: { readonly body?: Buffer; readonly accept?: string },
  ): Promise<Collected> {
    const { upstream } = this.#deps;
    const authorization = await upstream.credentials.authorization();
    const { user } = this.#admitted;
    // Without the key's extras: no scope allows to read tokens, but this one is the answer.
    const asUser = method === "GET" ? { ...user, extra: {} } : user;
    const sent = headersFor(
      this.#exchange,
      { ...this.#admitted, user: asUser },
      { upstream, authorization },
    );
    const headers = fieldsOf(sent)
      .filter(([name]) => !["accept", "accept-encoding", "content-type"].includes(name))
      .flat();
    const contentType = valuesOfField(sent, "content-type")[0] ?? "application/json";
    return this.#exchangeWhole({
      ...{ method, target, body, kind: "answer", sharer: sharerOf(this.#admitted) },
      headers: [
        ...headers,
        ...["accept", accept],
        ...(body === undefined ? [] : ["content-type", contentType]),
      ],
    });
  }

  #exchangeWhole(request: ForwardedRequest): Promise<Collected> {
    const { upstream, clock } = this.#deps;
    const { promise, resolve, reject } = Promise.withResolvers<Collected>();
    if (this.#isOver) return Promise.reject(new Error("over"));
    let [status, rawHeaders]: [number, readonly string[]] = [0, []];
    const body = new ByteCollector(mostAnswerBytes);
    const giveUp = (refused: Refusal): void => {
      reject(new NoAnswer(refused));
      forwarding.abort();
    };
    const cancel = clock.wakeAfter(longestAnswerMs, () => giveUp(refusalOfFailure("timeout")));
    const forwarding = upstream.forwarder.forward(request, {
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
    if (this.#isOver) return;
    if (status === 401) {
      this.#deps.upstream.credentials.forget();
      return this.#refuse(
        refusal(502, "upstream", "the API server rejected the gateway's credential; retry"),
      );
    }
    const headers = responseHeaders(rawHeaders, { ...this.#admitted.target, isProxied: false });
    const others = fieldsOf(headers ?? []).filter(([name]) => name !== "content-length");
    this.#status = status;
    this.#exchange.respond(status, [...others.flat(), "content-length", String(body.length)]);
    this.#isEnded = true;
    this.#exchange.write(body);
    this.#exchange.end();
  }

  #refuse(refused: Refusal, cause: ForwardResult["cause"] = "upstream"): void {
    if (this.#isOver) return;
    if (this.#isEnded) this.#exchange.abort();
    else {
      this.#status = refused.status;
      sendRefusal(this.#exchange, refused);
    }
    this.#finish(cause);
  }

  #finish(cause: ForwardResult["cause"]): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#forwarding?.abort();
    this.#ownBody.end();
    this.#deps.onEnd({ status: this.#status, cause });
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
