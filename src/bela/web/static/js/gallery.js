/** The rows of a leaf, the least certain first: look through them, and correct labels. */

import { get } from "./api.js";
import { fill, h, icon } from "./dom.js";
import { count, labelText } from "./format.js";
import { complain } from "./notes.js";
import { fetchConfusions, session } from "./session.js";
import { Worklist } from "./worklist.js";

const PAGE = 60;

export function mountGallery(root, leaf) {
  const gallery = new Gallery(leaf);
  fill(root, gallery.node);
  gallery.more();
  fetchConfusions();
  session.corrected = () => gallery.again();
  return { key: (event, meaning) => gallery.list.key(event, meaning), leave: () => (session.corrected = null) };
}

class Gallery {
  constructor(leaf) {
    this.leaf = leaf;
    this.title = h("h1", { tabindex: "-1" }, `Leaf ${count(leaf)}`);
    this.lead = h(
      "p.lead",
      `A leaf is a part of the data whose rows look alike and share a label. The least certain come first. Select a row and
        give it another label if it is wrong. Rows that wait for an answer are not among them.`,
    );
    this.button = h("button", { type: "button", onclick: () => this.more() }, "Show more rows");
    this.list = new Worklist({ title: "Rows of this leaf" });
    this.node = h(
      "div.page.gallery",
      h("header.page-head", h("a.back", { href: "#/tree" }, icon("back"), "All leaves"), this.title, this.lead),
      this.list.tiles,
      h("div.row.center", this.button),
      this.list.bar,
    );
  }

  /** Fetch further rows. */
  async more() {
    const { rows } = this.list;
    try {
      const found = await get(`/api/leaves/${this.leaf}/rows?offset=${rows.length}&limit=${PAGE}`);
      this.button.hidden = found.length < PAGE;
      if (!rows.length && found.length) this.title.textContent = `Leaf: ${labelText(mainLabel(found))}`;
      this.list.add(found);
      if (!rows.length) this.lead.textContent = "There are no rows in this leaf any more: the labels were made anew.";
    } catch (error) {
      this.button.hidden = true;
      this.lead.textContent = error.message;
    }
  }

  /** Fetch anew what is shown, as after an undo. */
  async again() {
    try {
      const n = Math.min(100, this.list.rows.length);
      this.list.renew(await get(`/api/leaves/${this.leaf}/rows?offset=0&limit=${n}`));
    } catch (error) {
      complain(error);
    }
  }
}

function mainLabel(rows) {
  const inferred = rows.find(({ source }) => source === "inferred") ?? rows[0];
  return inferred.label;
}
