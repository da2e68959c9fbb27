import { describeLaws } from "../../support/laws.ts";

describeLaws({
  "a new folder": {
    definition: { type: "directory", path: "/work/folder", mode: "0750" },
    breakIt: (host) => host.files.setAttributes("/work/folder", { mode: 0o777 }),
  },
  "a folder with another mode": {
    definition: { type: "directory", path: "/work/folder", mode: "0750" },
    prepare: (host) => host.files.makeDirectory("/work/folder", { mode: 0o700 }),
    breakIt: (host) => host.files.setAttributes("/work/folder", { mode: 0o777 }),
  },
});
