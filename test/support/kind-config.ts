import { join } from "node:path";
import type { GoModule } from "./go-module.ts";

/** kind's own code for the configuration of kubeadm in a node, and kubeadm. */
export const kindConfigModule: GoModule = {
  directory: join(import.meta.dirname, "kind-config"),
  name: "kind config",
  takes: "2 minutes",
  packages: "tool",
};
