/** What removes something, or is about more than one machine, asks; where nobody can be asked it wants `--yes`. */
import { expect, it } from "vitest";
import { runIn, startSignedIn } from "../../support/command-line.ts";

it("asks at a terminal, goes on after a yes, changes nothing after a no, and is refused where nobody can be asked", async () => {
  const line = await startSignedIn();
  const { folder, run } = line;
  const upload = () => runIn(folder, ["modules", "upload", "-"], undefined, "name: web\nresources: []\n");
  await upload();
  const remove = ["modules", "remove", "web"];
  expect(await run(...remove)).toEqual({
    code: 2,
    stdout: "",
    stderr: "fleetwright: Remove the module web? Nobody can be asked here: say --yes.\n",
  });
  expect(await run(...remove, "--json")).toMatchObject({ code: 2, stdout: "" });
  const no = await runIn(folder, remove, undefined, { typed: "n\n" });
  expect(no).toMatchObject({ code: 1, stderr: expect.stringContaining("Remove the module web? [y/N] ") });
  expect(await line.print("modules", "list", "-o", "name")).toBe("web\n");
  expect(await runIn(folder, remove, undefined, { typed: "y\n" })).toMatchObject({ code: 0 });
  await upload();
  expect(await run(...remove, "--yes")).toMatchObject({ code: 0, stdout: "web is removed.\n" });
  expect(await line.print("modules", "list", "-o", "name")).toBe("");
});

it.each([
  [["agents", "reject", "a", "b"]],
  [["agents", "reject-pending", "--all"]],
  [["assignments", "remove", "web"]],
  [["secrets", "remove", "key"]],
])("%j is refused without --yes before anything is asked of the server", async (args) => {
  const { run } = await startSignedIn();
  const { code, stderr } = await run(...args);
  expect([code, stderr]).toEqual([2, expect.stringContaining("say --yes")]);
});
