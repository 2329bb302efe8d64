import { resources } from "../api/resources.ts";
import { issuersIn } from "../authn/issuer-config.ts";
import { createKeyResolver } from "../domain/access-key/key-resolver.ts";
import type { PassiveClock } from "../runtime/clock.ts";
import { centralAnswers } from "./central-answers.ts";
import { CentralEnqueuer } from "./central-enqueuer.ts";
import type { Program } from "./controller.ts";
import { noteFinalized } from "./finalization.ts";
import { centralKinds } from "./kinds/kinds.ts";
import { newMemory } from "./memory.ts";
import { exposeOutboxes } from "./outbox-metrics.ts";
import { countMintedToken, countRevokedTokens } from "./token-quota.ts";
import type { ControllerOptions, World } from "./world.ts";

/** What the controller of the central cluster reconciles. */
export function centralProgram(options: ControllerOptions, clock: PassiveClock): Program<World> {
  return {
    options,
    watched: centralKinds,
    newMemory: () => newMemory(options),
    worldOf({ yielder, watches, ...state }) {
      const { stores } = state;
      const { plural } = resources.ownedAccessKeys;
      return {
        ...state,
        recordWrite(resource, response) {
          noteFinalized(resource, response, state.memory);
          state.recordWrite(resource, response);
        },
        options,
        enqueuer: new CentralEnqueuer(state, yielder),
        keyResolver: createKeyResolver({
          keys: stores.keys,
          policies: stores.requesterPolicies,
          issuers: () => issuersIn(stores.issuers),
          config: options,
        }),
        keysAsOf: () =>
          (watches().find(({ resource }) => resource === plural)?.openedAt ?? 0) * 1000,
      };
    },
    /** Counts existing tokens before the first token is minted. */
    async begin(world) {
      const { stores, enqueuer } = world;
      await enqueuer.yielder.forEach(stores.tokens.values(), (token) =>
        countMintedToken(token, world),
      );
      for (const { entries } of stores.revokedTokens.values()) countRevokedTokens(entries, world);
    },
    answersIn: centralAnswers,
    expose: (stores, metrics) => exposeOutboxes(stores, clock, metrics),
  };
}
