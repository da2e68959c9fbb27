import { describe, expect, it } from "vitest";
import { renderCallDocs } from "./call-docs.ts";
import { renderRestDocs, renderRoutes, renderVerbs } from "./from-router.ts";

describe("what is written from the router is what it says today", () => {
  it("where the verbs of the client go", async () => {
    await expect(renderRoutes()).resolves.toMatchFileSnapshot("../../adapters/client/routes.ts");
  });

  it("what the verbs of the client take and answer", async () => {
    await expect(renderVerbs()).toMatchFileSnapshot("../../adapters/client/routed-verbs.ts");
  });

  it("the table of docs/rest.md", async () => {
    await expect(renderRestDocs()).resolves.toMatchFileSnapshot("../../docs/rest.md");
  });

  it("docs/calls.md", async () => {
    await expect(renderCallDocs()).resolves.toMatchFileSnapshot("../../docs/calls.md");
  });
});
