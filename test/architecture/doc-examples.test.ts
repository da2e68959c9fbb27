import { describe, expect, it } from "vitest";
import { createClient } from "fleetwright/client";
import { createTestOrchestrator } from "fleetwright/testing";
import { featuresOf, verbsOf } from "../support/verbs-of.ts";
import { docExamples, docstringExamples, typeErrorsOf } from "./doc-examples.ts";

const examples = docExamples();

describe("the examples of the guides and of docstrings", () => {
  it("compile, each alone, for somebody who is as strict as we are", async () => {
    const wrong = {
      guide: "none.md",
      line: 4,
      text: "const right = 1;\nexport const wrong: string = right;\n",
    };
    const inSources = docstringExamples();
    expect(inSources.length).toBeGreaterThan(3);
    const errors = await typeErrorsOf([...examples, ...inSources, wrong]);
    expect(errors).toEqual(["none.md:6 Type 'number' is not assignable to type 'string'."]);
    console.info(
      `${examples.length} examples of the guides and ${inSources.length} of docstrings compile alone.`,
    );
  }, 600_000);

  it("call every verb of an orchestrator", async () => {
    await using product = await createTestOrchestrator();
    const verbs = featuresOf(product.orchestrator).flatMap(([path, feature]) =>
      verbsOf(feature).map((verb) => `orchestrator.${path}.${verb}`),
    );
    expect(verbs.length).toBeGreaterThan(55);
    expect(uncalled(verbs)).toEqual([]);
  });

  it("call every verb of the client", () => {
    const client: object = createClient({ url: "http://127.0.0.1:1" });
    const verbs = Object.entries(client).flatMap(([name, part]: [string, unknown]) => {
      if (typeof part === "function") return [`client.${name}`];
      return typeof part === "object" ? Object.keys(part!).map((verb) => `client.${name}.${verb}`) : [];
    });
    expect(verbs.length).toBeGreaterThan(50);
    expect(uncalled(verbs)).toEqual([]);
  });
});

/** Those that no example calls. As the examples compile, what looks like a call is one. */
function uncalled(verbs: readonly string[]): string[] {
  const calls = new Set(examples.flatMap(({ text }) => text.match(/\b[a-z]\w*(\.\w+)+(?=[(<])/gi) ?? []));
  return verbs.filter((verb) => !calls.has(verb));
}
