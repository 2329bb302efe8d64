import { controllerOptions as table } from "../../src/controllers/controller-options.ts";
import type { ControllerOptions } from "../../src/controllers/world.ts";
import { parseConfig } from "../../src/runtime/options.ts";
import { ownNamespace } from "./fake-informers.ts";

/** Options of a controller over fakes: the defaults, but for these. */
export const controllerOptions: ControllerOptions = {
  ...parseConfig(table, { flags: new Map(), env: {} }),
  namespace: ownNamespace,
  prefixes: { user: "", team: "" },
  workers: 2,
  writers: 2,
  issuer: "https://issuer",
  audience: "aud",
  maximumOutboxBytes: 1024 * 1024,
};
