/** Ctrl-C in the middle of `sync apply`. */
import { expect, it } from "vitest";
import { runStopped, startSignedIn } from "../../support/command-line.ts";
import { makeFolder, newPublicKey, putFile } from "../../support/fleet-folder.ts";

const operators = (...keys: string[]): string =>
  `label: shop\noperators:\n${keys.map((key, at) => `  op-${at}: { public_key: ${key} }\n`).join("")}`;

it("a sync apply that is stopped finishes the step it is at, and says what it did and what it left", async () => {
  const line = await startSignedIn();
  const folder = makeFolder({ "fleet.yaml": operators(newPublicKey(), newPublicKey(), newPublicKey()) });
  await line.print("sync", "apply", folder);
  // Another key takes two calls: between them there is no such operator.
  putFile(folder, "fleet.yaml", operators(newPublicKey(), newPublicKey(), newPublicKey()));

  const stopped = await runStopped(line, (stdout) => stdout.includes("\n"), "sync", "apply", folder);
  expect(stopped).toEqual({
    code: 1,
    stdout: expect.stringMatching(/^\S+ +operator +op-0 .*\n$/) as string,
    stderr:
      "Finishing the step that it is at.\nfleetwright: It was stopped.\n" +
      "Done: 1 replaced before it. Not begun: 2 to replace. Run it again for the rest.\n",
  });
  const { items } = JSON.parse(await line.print("--json", "operators", "list")) as {
    items: { username: string }[];
  };
  const names = items.map(({ username }) => username).filter((name) => name.startsWith("op-"));
  expect(names.toSorted()).toEqual(["op-0", "op-1", "op-2"]);

  expect((await line.run("sync", "apply", folder)).stdout).toContain("Done: 2 replaced\n");
});
