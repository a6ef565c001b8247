/** The page as a whole: who is there, which part is shown, what keys do, whether the server is away. */

import { mountAnswer } from "./answer.js";
import { mountCertificate } from "./certificate.js";
import { mountClasses } from "./classes.js";
import { belongTo, get } from "./api.js";
import { announce, fill, h, icon } from "./dom.js";
import { plural } from "./format.js";
import { openGuidelines } from "./guidelines.js";
import { openKeys } from "./keysdialog.js";
import { Watched, follow, online, refresh, state } from "./live.js";
import { keep } from "./memory.js";
import { toast } from "./notes.js";
import { mountPeople } from "./people.js";
import { mountReport } from "./report.js";
import { mountRows, openRows } from "./rows.js";
import { begin, labels, session, waiting } from "./session.js";
import { mountTree } from "./tree.js";

const ROUTES = {
  "": { mount: mountAnswer, title: "Answer" },
  tree: { mount: mountTree, title: "Leaves" },
  rows: { mount: mountRows, title: "Rows" },
  classes: { mount: mountClasses, title: "Classes" },
  people: { mount: mountPeople, title: "People" },
  report: { mount: mountReport, title: "Export and report" },
};
const AWAY = 900; // milliseconds before the page says that the server is away: a short pause is nobody's business

const main = document.getElementById("main");
const shutOut = new Watched(""); // why the server does not let this page in, while it does not
let view = null;

function campaignName() {
  return state.value.campaign.replace(/\.bela$/, "");
}

/** Show the part of the page that the address names. */
function route() {
  const [name = "", ...rest] = location.hash.replace(/^#\/?/, "").split("/");
  const where = ((session.owner || name === "rows") && ROUTES[name]) || ROUTES[""];
  view?.leave?.();
  document.body.dataset.page = where !== ROUTES[""] ? name : "answer";
  view = where.mount(main, rest);
  document.title = `${where.title} · ${campaignName()} · BELA`;
  for (const link of document.querySelectorAll("nav a")) {
    const here = link.getAttribute("href").replace(/^#\/?/, "") === name;
    if (here) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  main.scrollTop = 0;
  if (arrived) main.querySelector("h1")?.focus({ preventScroll: true });
  arrived = true;
}
let arrived = false;

const TYPING = "input, textarea, select, [contenteditable]";

function press(event) {
  if (event.defaultPrevented || document.querySelector("dialog[open]")) return;
  const at = event.target instanceof Element ? event.target : document.body;
  if (at.closest(TYPING) && !at.matches("input[type=checkbox]")) return;
  // What has the focus is pressed by its own keys; Space is not a key of links.
  if (event.key === "Enter" && at.closest("button, a, summary, input")) return;
  if (event.key === " " && at.closest("button, summary, input")) return;
  const meaning = session.keys.find(event, labels());
  if (meaning && event.repeat) return event.preventDefault(); // a key that is held down does once what it does
  let done = view?.key?.(event, meaning) ?? false;
  if (!done && meaning?.action === "keys") done = Boolean(openKeys());
  if (!done && meaning?.action === "rows") done = openRows();
  if (!done && meaning?.action === "guidelines") done = Boolean(openGuidelines());
  if (done) event.preventDefault();
}

function switchTheme() {
  const dark =
    document.documentElement.dataset.theme === "dark" ||
    (!document.documentElement.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = dark ? "light" : "dark";
  keep("theme", dark ? "light" : "dark");
  announce(dark ? "Light" : "Dark");
}

/** Say what is on its way, and that the server is away if it is. */
function watchConnection() {
  const note = document.getElementById("away");
  const sent = document.getElementById("sending");
  let timer = null;
  const draw = () => {
    const n = waiting.value;
    clearTimeout(timer);
    if (online.value) note.hidden = true;
    else {
      timer = setTimeout(
        () => {
          fill(
            note,
            icon("cloud"),
            h(
              "span",
              shutOut.value
                ? `${shutOut.value[0].toUpperCase()}${shutOut.value.slice(1)}. ${n ? `${plural(n, "answer")} ${n === 1 ? "waits" : "wait"} in this browser.` : ""}`
                : n
                ? `The server is away. ${plural(n, "answer")} ${n === 1 ? "is" : "are"} kept in this browser and sent when it is
                  back.`
                : "The server is away. The page goes on by itself when it is back.",
            ),
          );
          note.hidden = false;
        },
        note.hidden ? AWAY : 0,
      );
    }
    sent.textContent = n > 3 ? `${n} on their way` : "";
  };
  online.watch(draw);
  waiting.watch(draw);
  shutOut.watch((why) => (why && online.set(false), draw()));
}

function tools() {
  document.getElementById("theme").addEventListener("click", switchTheme);
  document.getElementById("keys").addEventListener("click", () => openKeys());
  document.getElementById("guidelines").addEventListener("click", () => openGuidelines());
  document.getElementById("skip").addEventListener("click", () => main.focus());
  const person = document.getElementById("person");
  if (state.value.team) {
    person.hidden = false;
    person.querySelector("span").textContent = session.by;
    const role = session.owner ? "You own this campaign." : "You answer, skip, flag, and take back what you did.";
    person.addEventListener("click", () => toast(`You are ${session.by}, by the link that you came in with. ${role}`));
  }
  for (const link of document.querySelectorAll("header nav a")) {
    if (!session.owner && !["#/", "#/rows"].includes(link.getAttribute("href"))) link.remove();
  }
}

/** Wait for the server, however long it takes to read the data. */
async function arrive() {
  for (let wait = 250; ; wait = Math.min(wait * 2, 4000)) {
    try {
      return await refresh();
    } catch (error) {
      fill(main, h("p.loading", error.passing ? "Waiting for the server…" : error.message));
      if (!error.passing) throw error;
      await new Promise((done) => setTimeout(done, wait));
    }
  }
}

async function start() {
  await arrive();
  const me = await get("/api/me");
  belongTo(me.id, (why) => shutOut.set(why));
  document.getElementById("campaign").textContent = campaignName();
  await begin(me);
  const last = Number(sessionStorage.getItem("bela.shown"));
  const first = session.feed.fill();
  tools();
  watchConnection();
  mountCertificate(document.getElementById("certificate"));
  await first;
  session.feed.prefer(last);
  route();
  window.addEventListener("hashchange", route);
  window.addEventListener("keydown", press);
  follow(session.feed.tabs.id);
}

start().catch((error) => {
  fill(
    main,
    h("section.card.notice", icon("warning"), h("div", h("h1", "The page cannot begin"), h("p", error.message))),
  );
});
