import type { ControllerOptions } from "../../src/controllers/world.ts";
import { ownNamespace } from "./fake-informers.ts";

/** Options of a controller over fakes. */
export const controllerOptions: ControllerOptions = {
  namespace: ownNamespace,
  prefixes: { user: "", team: "" },
  grantSettleTime: 2_000,
  workers: 2,
  writers: 2,
  issuer: "https://issuer",
  audience: "aud",
  maximumKeyTtl: 0,
  maximumTokenTtl: 86_400,
  signingKeyRotation: 30 * 86_400_000,
  deleteExpiredTokensAfter: 3600,
  deleteExpiredKeysAfter: undefined,
  quotaTokens: 1_000,
  quotaExempt: [],
  requireSyncFrom: false,
  copyKeys: [],
  maximumOutboxBytes: 1024 * 1024,
};
