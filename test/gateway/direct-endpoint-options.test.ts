import { describe, expect, test } from "vitest";
import { checkVirtualClusterNamespace } from "../../src/authn/token-options.ts";
import { directEndpointOptions } from "../../src/gateway/direct-endpoint-options.ts";
import { parseConfig } from "../../src/runtime/options.ts";
import { flagTexts } from "../runtime/flag-texts.ts";

const parsed = (...texts: readonly string[]) =>
  parseConfig(directEndpointOptions, {
    flags: flagTexts(["--cluster-name=east", ...texts]),
    env: {},
  });

test("the audience of every cluster is accepted unless it is refused", () => {
  expect(parsed()).toMatchObject({ clusterName: "east", ownAudienceOnly: false });
  expect(parsed("--own-audience-only=true").ownAudienceOnly).toBe(true);
});

test.each([[], ["--cluster-name="], ["--cluster-name=East"], ["--cluster-name=web/dev/a"]])(
  "the name of the cluster is required, and is that of a cluster: %s",
  (...flags) => {
    expect(() => parseConfig(directEndpointOptions, { flags: flagTexts(flags), env: {} })).toThrow(
      "must be the name of a connected cluster, such as east, or a project",
    );
  },
);

describe("the maximum age of the list of revoked tokens", () => {
  test.each([
    ["", undefined],
    ["2m", 120_000],
    ["1h", 3_600_000],
  ])("%j is %j", (text, ms) => {
    expect(parsed(`--maximum-list-age=${text}`).maximumListAge).toBe(ms);
  });

  test("is off unless it is set", () => {
    expect(parsed().maximumListAge).toBeUndefined();
  });

  test.each(["0", "119", "1m", "-5m", "soon"])(
    "%j is refused: the issuer confirms its list once a minute",
    (text) => {
      expect(() => parsed(`--maximum-list-age=${text}`)).toThrow("must be a duration from 120s");
    },
  );
});

describe("the namespace of a virtual cluster", () => {
  const checked = (...flags: readonly string[]) => {
    const config = parseConfig(directEndpointOptions, { flags: flagTexts(flags), env: {} });
    checkVirtualClusterNamespace(config);
    return config.virtualClusterNamespace;
  };
  test("is that of the cluster that runs it, and may be left out", () => {
    const flags = ["--cluster-name=web/dev", "--virtual-cluster-namespace=vc-web"];
    expect([checked(...flags), checked("--cluster-name=web/dev")]).toEqual(["vc-web", undefined]);
  });
  test("is refused for a cluster that is not virtual", () => {
    expect(() => checked("--cluster-name=east", "--virtual-cluster-namespace=vc-web")).toThrow(
      "--virtual-cluster-namespace=vc-web requires that --cluster-name names a virtual cluster as " +
        '<project>/<name>, such as web/dev; it is "east"',
    );
  });
  test("is the name of a namespace", () => {
    expect(() => checked("--cluster-name=web/dev", "--virtual-cluster-namespace=a.b")).toThrow(
      "--virtual-cluster-namespace",
    );
  });
});
