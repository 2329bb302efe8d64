import {
  liveGroup,
  type LiveKind,
  type LiveLimits,
  limitProblem,
} from "../domain/gateway/live-limits.ts";
import { type Refusal, refusal } from "../domain/gateway/refusal.ts";
import { mintsToken } from "../domain/gateway/own-object.ts";
import { isStream } from "../domain/gateway/transfer.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Exchange, UpgradeExchange } from "../runtime/exchange.ts";
import type { Logger } from "../runtime/log.ts";
import type { GatewayMetrics } from "../runtime/gateway-metrics.ts";
import {
  type AdmittedRequest,
  admitRequest,
  type AdmitRequestDeps,
  authorizeAgain,
} from "./admit-request.ts";
import { ForwardedExchange } from "./forward-exchange.ts";
import type { ForwardDeps, ForwardResult } from "./forward-terms.ts";
import { TokenMint } from "./token-mint.ts";
import { ForwardedUpgrade } from "./forward-upgrade.ts";
import type { LiveRequest, LiveRequests } from "./live-requests.ts";
import { completesBody } from "./own-body.ts";
import { sendRefusal } from "./respond.ts";
import { sendUpgradeRefusal } from "./upgrade-answer.ts";

/** What requests to the gateway need. */
export interface GatewayDeps extends AdmitRequestDeps {
  readonly clock: Clock;
  readonly budget: ForwardDeps["budget"];
  readonly live: LiveRequests;
  readonly limits: LiveLimits;
  readonly metrics: GatewayMetrics;
  readonly log: Logger;
}

/** Answers requests to the gateway. */
export interface GatewayHandler {
  onExchange(exchange: Exchange): void;
  onUpgrade(exchange: UpgradeExchange): void;
}

/** The one way of a request, whatever carries it. */
interface Carrier {
  readonly head: Exchange["head"];
  refuse(refused: Refusal): void;
  forward(admitted: AdmittedRequest, onEnd: (result: ForwardResult) => void): Forwarded;
}

type Forwarded = Pick<LiveRequest, "cut" | "end"> & { start(): Promise<void> };

/** The handler of a gateway's front server. */
export function gatewayHandler(deps: GatewayDeps): GatewayHandler {
  const { clock, budget } = deps;
  return {
    onExchange(exchange) {
      void handle(deps, {
        head: exchange.head,
        refuse: (refused) => sendRefusal(exchange, refused),
        forward(admitted, onEnd) {
          const terms = { upstream: admitted.server, clock, budget, onEnd };
          return mintsToken(admitted.request, admitted.target.query) &&
            completesBody(admitted, exchange)
            ? new TokenMint(exchange, admitted, terms)
            : new ForwardedExchange(exchange, admitted, terms);
        },
      });
    },
    onUpgrade(exchange) {
      // Until the answer, an error of the socket has no listener.
      exchange.socket.on("error", () => {});
      void handle(deps, {
        head: exchange.head,
        refuse: (refused) => sendUpgradeRefusal(exchange, refused, clock),
        forward: (admitted, onEnd) =>
          new ForwardedUpgrade(exchange, admitted, {
            ...{ clock, budget, onEnd },
            upstream: admitted.server,
          }),
      });
    },
  };
}

async function handle(deps: GatewayDeps, carrier: Carrier): Promise<void> {
  const { clock, metrics, log } = deps;
  const began = clock.monotonic();
  try {
    const admitted = await admitRequest(carrier.head, deps);
    if (admitted.kind === "refusal") return refuse(deps, carrier, admitted);
    const kind = kindOf(admitted, carrier);
    const { live, limits } = deps;
    const { credential } = admitted;
    const terms = { username: credential.user.username, keyId: credential.id, kind };
    const group = liveGroup(kind);
    const problem = limitProblem(live.countsOf(group, terms), {
      group,
      limits,
      noun: credential.noun,
    });
    if (problem !== undefined) return refuse(deps, carrier, problem);
    let end = (): void => {};
    let isOver = false;
    const forwarded = carrier.forward(admitted, (result) => {
      isOver = true;
      end();
      metrics.answered(admitted.request.verb, result.status);
      log.debug({ ...summaryOf(admitted), keyId: terms.keyId, ...result }, "gateway request ended");
    });
    // The client may have left while the request was admitted.
    if (isOver) return;
    end = live.add({
      ...terms,
      decide: () => authorizeAgain(admitted, deps),
      endsAt: () => credential.endsAt(),
      end: () => forwarded.end(),
      cut: (decision) => forwarded.cut(decision),
    });
    metrics.overhead((clock.monotonic() - began) / 1000);
    await forwarded.start();
  } catch (error) {
    log.error({ error }, "gateway request failed");
    carrier.refuse(refusal(500, "upstream", "internal error"));
  }
}

function refuse({ metrics, log }: GatewayDeps, carrier: Carrier, refused: Refusal): void {
  metrics.refused(refused.cause, refused.status);
  log.debug({ status: refused.status, cause: refused.cause }, "gateway request refused");
  carrier.refuse(refused);
}

function kindOf({ request, target }: AdmittedRequest, { head }: Carrier): LiveKind {
  if (head.isUpgrade) return "upgrade";
  return isStream(request, target.query) ? "stream" : "answer";
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
