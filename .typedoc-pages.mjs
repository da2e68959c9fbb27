/** How the guides stand in the documentation site: under their own titles, in groups. `typedoc.json` names it. */
import { Converter, PageEvent, Renderer } from "typedoc";

/** Which group a page is in, by its folder. */
const groups = [
  [/\/docs\/how-to\//, "How to"],
  [/\/docs\/resources\//, "Resource types"],
  [/\/docs\/decisions\//, "Decisions"],
  [/(\/docs\/|\/[A-Z]+\.md$)/, "Guides"],
];

/** @param app - TypeDoc's `Application`. */
export function load(app) {
  const titles = new Map();
  app.converter.on(Converter.EVENT_CREATE_DOCUMENT, (_context, page) => {
    const path = page.project.files.getReflectionPath(page) ?? "";
    page.frontmatter.group = groups.find(([pattern]) => pattern.test(path))?.[1];
    const title = /^# (.+)$/m.exec(page.content.map(({ text }) => text).join(""))?.[1];
    if (title !== undefined) titles.set(page, title.replaceAll("`", ""));
  });
  // Addresses are made of names before this: they stay those of the files, whatever the titles say.
  app.renderer.on(
    Renderer.EVENT_BEGIN,
    ({ project }) => {
      for (const [page, title] of titles) page.name = title;
      // The first page has the name of the project above it already.
      const [first] = project.readme ?? [];
      if (first) first.text = first.text.replace(/^# .+\n/, "");
    },
    1_000,
  );
  // A guide is in nothing else, and its text begins with its title.
  app.renderer.on(PageEvent.END, (event) => {
    if (event.model.isDocument?.()) event.contents = event.contents?.replace(breadcrumb, "");
  });
}

const breadcrumb = /<div class="tsd-page-title">\s*<ul class="tsd-breadcrumb"[^]*?<\/ul><\/div>/;
