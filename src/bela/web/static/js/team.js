/** Who may come in: the owner gives everybody a link of their own, and can end it at once. */

import { BASE, get, post } from "./api.js";
import { h, icon, refill } from "./dom.js";
import { count } from "./format.js";
import { state } from "./live.js";
import { ask, complain, confirmed, toast } from "./notes.js";
import { session } from "./session.js";
import { table } from "./table.js";

/** Whether there is anybody to let in: a page for one person, or one without tokens, has no links. */
function hasLinks() {
  return state.value.team && session.id !== "";
}

/** Make the panel; `load` fetches who is there by now. */
export function teamPanel() {
  const list = h("div");
  const node = h("section.team", { hidden: !hasLinks() }, h("h2", "Who may come in"), addForm(show), list);

  function show(members) {
    refill(list, membersTable(members, show));
  }

  return {
    node,
    async load() {
      if (hasLinks()) show(await get("/api/team"));
    },
  };
}

function addForm(show) {
  const name = h("input", { id: "new-member", type: "text", maxlength: 60, dir: "auto", autocomplete: "off" });
  const role = h(
    "select",
    { id: "new-role" },
    h("option", { value: "annotator" }, "Annotator"),
    h("option", { value: "owner" }, "Owner"),
  );
  const add = async (event) => {
    event.preventDefault();
    const wanted = name.value.trim();
    if (!wanted) return name.focus();
    try {
      const members = await post("/api/team", { name: wanted, role: role.value });
      name.value = "";
      show(members);
      await copyLink(members.find((member) => sameName(member.name, wanted)));
    } catch (error) {
      complain(error);
    }
  };
  return h(
    "form.team-form",
    { onsubmit: add },
    h("div", h("label", { for: "new-member" }, "Name"), name),
    h("div", h("label", { for: "new-role" }, "Role"), role),
    h("button.primary", { type: "submit" }, icon("plus"), "Add and copy the link"),
    h(
      "p.help",
      `Each link is for one person, whose name stands beside what they answer. Annotators answer, skip, flag, and undo what
        they did themselves; they see no labels of others. Owners do everything that you can do.`,
    ),
  );
}

function sameName(one, other) {
  return one.toLocaleLowerCase() === other.replace(/\s+/g, " ").toLocaleLowerCase();
}

function membersTable(members, show) {
  const change = async (name, action) => {
    try {
      const found = await post("/api/team/change", { name, action });
      show(found);
      return found.find((member) => member.name === name);
    } catch (error) {
      complain(error);
      return null;
    }
  };
  const revoke = async ({ name }) => {
    const text = `The link of ${name} ends at once. What they have answered stays.`;
    if (await confirmed(`Let ${name} in no longer?`, text, "Revoke")) await change(name, "revoke");
  };
  const renew = async ({ name }) => {
    const text = `The link that ${name} has ends at once, and they have to come in by the new one.`;
    if (await confirmed(`A new link for ${name}?`, text, "New link")) await copyLink(await change(name, "renew"));
  };
  const again = async ({ name, role }) => {
    try {
      const found = await post("/api/team", { name, role });
      show(found);
      await copyLink(found.find((member) => member.name === name));
    } catch (error) {
      complain(error);
    }
  };
  return table(
    [
      {
        name: "name",
        text: "Name",
        head: true,
        value: ({ name }) => name,
        show: ({ name, revoked }) =>
          h(
            "span",
            { dir: "auto" },
            name,
            name === session.by ? h("span.tag", "you") : null,
            revoked ? h("span.tag", "revoked") : null,
          ),
      },
      { name: "role", text: "Role", value: ({ role }) => role, show: (member) => roleOf(member, change) },
      {
        name: "answers",
        text: "Answers",
        number: true,
        value: ({ answers }) => answers,
        show: ({ answers }) => count(answers),
      },
      {
        name: "skipped",
        text: "Skipped",
        number: true,
        value: ({ skipped }) => skipped,
        show: ({ skipped }) => count(skipped),
      },
      {
        name: "link",
        sorts: false,
        value: () => null,
        show: (member) =>
          h(
            "div.row.member-acts",
            member.revoked
              ? button("Let in again", member.name, () => again(member))
              : [
                  button("Copy link", member.name, () => copyLink(member), "copy"),
                  button("New link", member.name, () => renew(member)),
                  member.at_machine ? null : button("Revoke", member.name, () => revoke(member)),
                ],
          ),
      },
    ],
    members,
    { caption: "Who may come in" },
  );
}

function button(text, name, onclick, sign = null) {
  const title = `${text}: ${name}`;
  return h("button.small", { type: "button", "aria-label": title, onclick }, sign ? icon(sign) : null, text);
}

function roleOf({ name, role, revoked, at_machine: stays }, change) {
  if (revoked || stays || name === session.by) return role;
  const choice = h(
    "select",
    { "aria-label": `Role of ${name}`, onchange: () => change(name, choice.value) },
    ["annotator", "owner"].map((one) => h("option", { value: one, selected: one === role }, one)),
  );
  return choice;
}

/** Put a link where it can be pasted from; where the browser does not let a page do that, show it. */
async function copyLink(member) {
  if (!member) return;
  const link = `${location.origin}${BASE}/?token=${member.token}`;
  try {
    await navigator.clipboard.writeText(link);
    toast(`The link of ${member.name} is copied. It lets in whoever has it, in that name.`, { kind: "done" });
  } catch {
    await ask(`The link of ${member.name}`, () => [
      h("p", "Copy it and send it to them. It lets in whoever has it, in that name."),
      h("input", {
        type: "text",
        value: link,
        readonly: true,
        "aria-label": `Link of ${member.name}`,
        dataset: { first: "" },
      }),
    ]);
  }
}
