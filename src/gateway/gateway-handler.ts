import { refusal } from "../domain/gateway/refusal.ts";
import { mintsToken } from "../domain/gateway/token-mint.ts";
import type { Clock } from "../runtime/clock.ts";
import type { Exchange, UpgradeExchange } from "../runtime/exchange.ts";
import { admitRequest, type AdmitRequestDeps } from "./admit-request.ts";
import { ForwardedExchange } from "./forward-exchange.ts";
import { ForwardedUpgrade } from "./forward-upgrade.ts";
import { completesBody, type OwnBodyDeps } from "./own-body.ts";
import {
  type ResponseWriter,
  RequestInProgress,
  type RequestInProgressDeps,
} from "./request-in-progress.ts";
import { sendRefusal } from "./send-refusal.ts";
import { TokenMint } from "./token-mint.ts";
import { sendUpgradeRefusal } from "./upgrade-answer.ts";

/** What requests to the gateway need. */
export interface GatewayDeps extends AdmitRequestDeps, RequestInProgressDeps {
  readonly clock: Clock;
  readonly bodies: OwnBodyDeps["bodies"];
}

/** Answers requests to the gateway. */
export interface GatewayHandler {
  onExchange(exchange: Exchange): void;
  onUpgrade(exchange: UpgradeExchange): void;
}

/** The handler of a gateway's front server. */
export function gatewayHandler(deps: GatewayDeps): GatewayHandler {
  const { clock, bodies } = deps;
  return {
    onExchange(exchange) {
      void handle(deps, {
        head: exchange.head,
        accepted: (username) => exchange.accepted(username),
        refuse: (refused) => sendRefusal(exchange, refused),
        onClose: (listener) => exchange.onClose(listener),
        forward(admitted, onEnd) {
          const isMint =
            mintsToken(admitted.request, admitted.target.query) &&
            completesBody(admitted, exchange);
          const Forwarded = isMint ? TokenMint : ForwardedExchange;
          return new Forwarded(exchange, admitted, { clock, bodies, onEnd });
        },
      });
    },
    onUpgrade(exchange) {
      const { head, socket } = exchange;
      // Until the answer, an error of the socket has no listener.
      socket.on("error", () => {});
      void handle(deps, {
        head,
        accepted: (username) => exchange.accepted(username),
        refuse: (refused) => sendUpgradeRefusal(exchange, refused, clock),
        onClose: (listener) =>
          socket.destroyed ? listener() : void socket.once("close", listener),
        forward: (admitted, onEnd) =>
          new ForwardedUpgrade(exchange, admitted, { clock, bodies, onEnd }),
      });
    },
  };
}

async function handle(deps: GatewayDeps, writer: ResponseWriter): Promise<void> {
  const { clock, metrics, log } = deps;
  const began = clock.monotonic();
  const request = new RequestInProgress(deps, writer);
  try {
    const admitted = await admitRequest(writer.head, deps, request);
    if (request.isOver) return;
    if (admitted.kind === "refusal") return request.refuse(admitted);
    const forwarded = request.forward(admitted);
    metrics.overhead((clock.monotonic() - began) / 1000);
    await forwarded?.start();
  } catch (error) {
    // What waits for a request that is over ends with an error.
    if (request.isOver) return;
    log.error({ error }, "gateway request failed");
    request.refuse(refusal(500, "upstream", "internal error"));
  }
}
