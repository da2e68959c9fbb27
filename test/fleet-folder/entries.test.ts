/** What is told of entries of a fleet folder that are empty, wrong in several ways, or about what the folder does not have. */
import { expect, it } from "vitest";
import { planFleetFolder, readFleetFolder, toPresentThing } from "fleetwright";

const read = (text: string, modules: Record<string, string> = {}) =>
  readFleetFolder([
    { path: "fleet.yaml", text: `label: shop\n${text}` },
    ...Object.entries(modules).map(([name, module]) => ({ path: `modules/${name}.yaml`, text: module })),
  ]);

const told = (folder: Pick<ReturnType<typeof read>, "faults">): unknown[] =>
  folder.faults.map(({ file, line, column, path }) => [`${file}:${line}:${column}`, path.join(".")]);

it.each(["assignments", "windows", "channels", "thresholds", "operators"])("%s may be empty", (kind) => {
  for (const nothing of ["", " {}", " null", " ~"]) {
    const folder = read(`${kind}:${nothing}\n`);
    expect([told(folder), folder.things]).toEqual([[], []]);
  }
  for (const wrong of [" []", " a", " 7", " false"])
    expect(told(read(`${kind}:${wrong}\n`))).toEqual([[expect.stringMatching(/^fleet\.yaml:2:/), kind]]);
});

it("one fault of an entry hides no other, and none is told twice", () => {
  const operators = `operators:\n  ada: { public_key: abc, role: Boss }\n`;
  expect(told(read(operators)).map((each) => (each as string[])[1])).toEqual([
    "operators.ada.public_key",
    "operators.ada.role",
  ]);
  const assignments = `assignments:\n  web: { selector: "a=", modules: 7 }\n`;
  expect(told(read(assignments)).map((each) => (each as string[])[1])).toEqual([
    "assignments.web.selector",
    "assignments.web.modules",
  ]);
  const long = `assignments:\n  web: { selector: "${"(".repeat(5_000)}", modules: [] }\n`;
  expect(
    told(read(long)).filter((each) => (each as string[])[1] === "assignments.web.selector"),
  ).toHaveLength(1);
});

it("each module that is required and is nowhere is told where it is required", () => {
  const web = "name: web\nrequires:\n  - base\n  - first\n  - second\nresources: []\n";
  const folder = read("", { web, base: "name: base\nresources: []\n" });
  expect(told(folder)).toEqual([]);
  const options = { takeOver: false, prune: false, allowEmpty: false, operatorId: null, nowMs: 0 };
  expect(told(planFleetFolder(folder, [], options))).toEqual([
    ["modules/web.yaml:4:5", "modules.web.requires.1"],
    ["modules/web.yaml:5:5", "modules.web.requires.2"],
  ]);
});

it("params of modules that the folder does not have are the server's to judge, those of its own are not", () => {
  const web = "name: web\nparams:\n  port: { type: integer }\nresources: []\n";
  const assignment = (modules: string, params: string) =>
    `assignments:\n  web: { selector: "*", modules: [${modules}], params: { ${params} } }\n`;
  const paths = (modules: string, params: string): unknown[] =>
    told(read(assignment(modules, params), { web })).map((each) => (each as string[])[1]);
  expect(paths("web", "port: 1, web.port: 2")).toEqual([]);
  expect(paths("web", "port: 1, other: 2")).toEqual(["assignments.web.params.other"]);
  expect(paths("web, db", "port: 1, other: 2, db.other: 3, web.port: 4")).toEqual([]);
  expect(paths("web, db", "port: x")).toEqual(["assignments.web.params.port"]);
  expect(paths("web, db", "web.port: x, db.port: x")).toEqual(["assignments.web.params.web.port"]);
  expect(paths("web@1", "port: x, other: 2")).toEqual([]);
});

it("a module is of the revision that follows the one which is there", () => {
  const present = toPresentThing("modules", {
    name: "web",
    revision: 3,
    content_hash: "0",
    managed_by: { label: "shop", name: "web" },
  });
  const options = { takeOver: false, prune: false, allowEmpty: false, operatorId: null, nowMs: 0 };
  const paths = (revision: number): unknown[] => {
    const text = `assignments:\n  web: { selector: "*", modules: [web@${revision}] }\n`;
    return told(planFleetFolder(read(text, { web: "name: web\nresources: []\n" }), [present], options));
  };
  expect(paths(3)).toEqual([]);
  expect(paths(4)).toEqual([]);
  expect(paths(5)).toEqual([["fleet.yaml:3:35", "assignments.web.modules.0"]]);
});
