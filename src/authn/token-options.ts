import {
  ConfigError,
  duration,
  httpsUrl,
  type ParseValue,
  text,
  trueOrFalse,
} from "../runtime/config-values.ts";
import type { OptionTable } from "../runtime/options.ts";

/** Options of what mints direct tokens, and of what describes them to a connected cluster. */
export const directTokenOptions = {
  issuer: {
    value: "<url>",
    initial: "https://latchkey.latchkey-system.svc",
    help: "`iss` of direct tokens; set the same for controller and trust-config",
    parse: httpsUrl,
  },
  audience: {
    value: "<text>",
    initial: "management.service/direct",
    help:
      "`aud` of direct tokens; that of a token for one cluster is <text>/<cluster>; " +
      "set the same for controller, direct-endpoint and trust-config",
    parse: text,
  },
  /** Seconds. */
  maximumTokenTtl: {
    value: "<duration>",
    initial: "24h",
    help: "maximum lifetime of a direct token; set the same for controller and trust-config",
    parse: duration({ unit: 1, least: 1 }),
  },
} as const satisfies OptionTable;

const name = "[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?";
const names = new RegExp(`^${name}(?:/${name})?$`);

/** The name of a connected cluster in scopes and audiences. */
export const clusterName: ParseValue<string> = (value, option) => {
  if (names.test(value)) return value;
  throw new ConfigError(
    option,
    value,
    "must be the name of a connected cluster, such as east, " +
      "or a project and the name of a virtual cluster, such as web/dev",
  );
};

/** Options of what accepts direct tokens in a connected cluster. */
export const clusterAudienceOptions = {
  clusterName: {
    value: "<name>",
    initial: "",
    help:
      "required: name of this cluster in the scopes and audiences of tokens, such as east; " +
      "<project>/<name> for a virtual cluster",
    parse: clusterName,
  },
  ownAudienceOnly: {
    value: "",
    initial: "false",
    help: "accept only tokens for this cluster, and none that every connected cluster accepts",
    parse: trueOrFalse,
  },
} as const satisfies OptionTable;
