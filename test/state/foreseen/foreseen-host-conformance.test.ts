/** The promises of the Host port, kept by a machine that is only foreseen. */
import { describe, test } from "vitest";
import { MemoryHost } from "../../../lib/host/memory-host.ts";
import { ForeseenHost } from "../../../lib/state/foreseen/foreseen-host.ts";
import { hostConformance } from "../../../lib/testing/host-conformance.ts";

const hello = "http://files.test/hello";

describe("conformance", () => {
  const none = ["none"] as const;
  const create = () => {
    const below = new MemoryHost({ downloads: { [hello]: Buffer.from("hello") } });
    below.files.makeDirectory("/work", {});
    const programs = { echo: none, fail: none, wait: none };
    return {
      host: new ForeseenHost(below),
      folder: "/work",
      programs,
      urls: { hello, none: "", endless: "" },
    };
  };
  for (const { name, needs, promise, run } of hostConformance(create)) {
    // Programs and downloads do nothing here; what is linked or held is so on the machine below.
    const isOfMachine = needs === "root" || needs === "links" || needs === "held";
    test.skipIf(isOfMachine || promise === 9 || promise === 13)(name, run);
  }
});
