/** What the demonstration wants the web servers to be, and what it wants of them later. */

/** A page, a link to it, a message of the day, and a script that runs when the page has changed. */
export const site = `name: site
description: the pages of the web servers
resources:
  - { type: directory, path: /srv }
  - { type: directory, path: /srv/site }
  - id: page
    type: file
    path: /srv/site/index.html
    mode: "0644"
    content: |
      <h1>Hello</h1>
  - { type: symlink, path: /srv/current, target: site }
  - { id: motd, type: line, path: /etc/motd, line: Managed by Fleetwright. }
  - { id: reload, type: script, run: "echo reloaded >> srv/reloads.log", run_on: [page] }
`;

/** The same without the message of the day: the next apply takes it away again. */
export const siteWithoutMotd = site.replace(/^ {2}- \{ id: motd.*\n/m, "");
