import { resources } from "../api/resources.ts";
import { valuesOfField } from "../domain/gateway/raw-headers.ts";
import type { Refusal } from "../domain/gateway/refusal.ts";
import { isMintOver, nameOfObject } from "../domain/gateway/token-mint.ts";
import { objectPath } from "../kube/client/paths.ts";
import { sleep } from "../runtime/clock.ts";
import type { OwnBody } from "./own-body.ts";
import { type WholeAnswer, WholeExchange } from "./whole-exchange.ts";

const longestWaitMs = 30_000;

/** The pause after so much time, in milliseconds: the last one makes the answer an eighth later. */
const pauseAfter = (ms: number): number => Math.min(20 + ms / 8, 250);

/**
 * Creates a DirectClusterEndpointToken and answers once it has its token (specification, "HTTP
 * interface"), at the latest after 30 seconds. The gateway needs no right to tokens: it reads the
 * object as the requester.
 */
export class TokenMint extends WholeExchange {
  protected override async reply(): Promise<WholeAnswer | Refusal> {
    const body = await this.body.read(this.exchange);
    return body.kind === "refusal" ? body : this.#mint(body);
  }

  async #mint({ content }: OwnBody): Promise<WholeAnswer> {
    const { path, query } = this.admitted.target;
    const created = await this.collect({ method: "POST", target: path + query, body: content });
    this.mayBeDone = true;
    this.body.end();
    const object: unknown = created.status === 201 ? parsed(created.body) : undefined;
    const name = nameOfObject(object);
    if (name === undefined) return created;
    // The object exists: a client that cannot read it gets what the API server answered to its
    // POST.
    const shown = await this.#minted(objectPath(resources.endpointTokens, { name })).catch(
      () => undefined,
    );
    return shown?.status === 200 ? withWarnings({ ...shown, status: 201 }, created) : created;
  }

  async #minted(path: string): Promise<WholeAnswer | undefined> {
    const last = await this.#waitFor(path);
    const accept = valuesOfField(this.exchange.head.rawHeaders, "accept")[0];
    const isPlain = accept === undefined || accept === "*/*" || accept === "application/json";
    return isPlain ? last : this.#look(path, accept);
  }

  async #waitFor(path: string): Promise<WholeAnswer | undefined> {
    const { clock } = this.deps;
    const late = new AbortController();
    const cancel = clock.wakeAfter(longestWaitMs, () => late.abort());
    let last: WholeAnswer | undefined;
    try {
      const began = clock.monotonic();
      while (!this.isOver && !late.signal.aborted) {
        const pause = pauseAfter(clock.monotonic() - began);
        await sleep(pause, { clock, signal: late.signal });
        last = await this.#look(path);
        if (last.status === 200 && isMintOver(parsed(last.body))) break;
      }
    } finally {
      cancel();
    }
    return last;
  }

  #look(target: string, accept?: string): Promise<WholeAnswer> {
    // Without the key's extras: no scope allows to read tokens, but this one is the answer.
    const user = { ...this.admitted.user, extra: {} };
    return this.collect({ method: "GET", target, user, ...(accept && { accept }) });
  }
}

/** An answer with the warnings of another (Kubernetes API concepts, "Warnings"). */
function withWarnings(answer: WholeAnswer, { rawHeaders }: WholeAnswer): WholeAnswer {
  const warnings = valuesOfField(rawHeaders, "warning").flatMap((value) => ["warning", value]);
  return { ...answer, rawHeaders: [...answer.rawHeaders, ...warnings] };
}

function parsed(body: Buffer): unknown {
  try {
    const object: unknown = JSON.parse(body.toString("utf8"));
    return object;
  } catch {
    return undefined;
  }
}
