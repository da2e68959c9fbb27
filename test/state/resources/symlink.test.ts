import { describeLaws, text } from "../../support/laws.ts";

describeLaws({
  "a new link": {
    definition: { type: "symlink", path: "/work/link", target: "hunter2" },
    breakIt: (host) => host.files.makeSymlink("/work/link", "other"),
    secret: "hunter2",
  },
  "a link that took the place of a file": {
    definition: { type: "symlink", path: "/work/link", target: "there", force: true },
    prepare: (host) => host.files.writeFile("/work/link", text("a file\n"), { mode: 0o640 }),
    breakIt: (host) => host.files.makeSymlink("/work/link", "other"),
  },
});
