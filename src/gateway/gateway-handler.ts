import { internalError, type Refusal } from "../domain/gateway/refusal.ts";
import { mintsToken } from "../domain/gateway/token-mint.ts";
import type { Exchange, UpgradeExchange } from "../runtime/exchange.ts";
import { identifyRequest } from "./admit-request.ts";
import { ForwardedExchange } from "./forward-exchange.ts";
import { ForwardedUpgrade } from "./forward-upgrade.ts";
import { KeyEnding } from "./key-ending.ts";
import { readsBody } from "./own-body.ts";
import {
  enterRequest,
  type GatewayContext,
  refuseRequest,
  type ResponseWriter,
} from "./request-in-progress.ts";
import { narrowsReview, SelfReview } from "./self-review.ts";
import { sendRefusal, sendUpgradeRefusal } from "./send-refusal.ts";
import { TokenMint } from "./token-mint.ts";

/** Answers requests to the gateway. */
export interface GatewayHandler {
  onExchange(exchange: Exchange): void;
  onUpgrade(exchange: UpgradeExchange): void;
}

/** The handler of a gateway's front server. */
export function gatewayHandler(context: GatewayContext): GatewayHandler {
  const { clock, bodies } = context;
  return {
    onExchange(exchange) {
      void handle(context, {
        head: exchange.head,
        accepted: (username) => exchange.accepted(username),
        refuse: (refused) => sendRefusal(exchange, refused),
        onClose: (listener) => exchange.onClose(listener),
        forward(admitted, onEnd) {
          const isMint = mintsToken(admitted.request, admitted.target.query) && readsBody(admitted);
          const Forwarded = isMint
            ? TokenMint
            : admitted.mayEndKey
              ? KeyEnding
              : narrowsReview(admitted, exchange.head)
                ? SelfReview
                : ForwardedExchange;
          return new Forwarded(exchange, admitted, { clock, bodies, onEnd });
        },
      });
    },
    onUpgrade(exchange) {
      const { head, socket } = exchange;
      // Until the answer, an error of the socket has no listener.
      socket.on("error", () => {});
      void handle(context, {
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

async function handle(context: GatewayContext, writer: ResponseWriter): Promise<void> {
  const began = context.clock.monotonic();
  const refuse = (refused: Refusal): void => refuseRequest(refused, writer, context);
  try {
    const identified = await identifyRequest(writer.head, context, (user) => writer.accepted(user));
    if (identified.kind === "refusal") return refuse(identified);
    const request = enterRequest(identified, writer, context);
    if (request.kind === "refusal") return refuse(request);
    await request.start(began);
  } catch (error) {
    context.log.error({ error }, "gateway request failed");
    refuse(internalError);
  }
}
