"use strict";
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const tools = document.querySelector(".tools");
  const input = tools.querySelector("input");
  const count = tools.querySelector("output");
  const nothing = document.querySelector(".nothing");
  const picked = tools.querySelector("select");
  const sections = all(".xr");

  // A search finds a row by its text and by the name of its resource.
  const rows = all(".row").map((element) => {
    const group = element.closest(".group");
    return { element, text: ((group.dataset.name || "") + " " + element.textContent).toLowerCase() };
  });
  const groups = all(".group");
  const steps = all("details.step").map((element) => ({
    element, card: document.querySelector('.card a[href="#' + element.id + '"]').parentNode,
  }));
  const folds = all("details");
  let before = null; // whether each of folds was open before the search

  const shows = (root, selector) => root.querySelector(selector) !== null;

  function search() {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length && !before) before = folds.map((d) => d.open);
    let found = 0;
    for (const { element, text } of rows) {
      element.hidden = !words.every((w) => text.includes(w));
      if (!element.hidden && !element.closest(".xr").dataset.unpicked) found++;
    }
    for (const g of groups) {
      // A search finds a resource without rows by its name.
      const bare = g.dataset.name !== undefined && !shows(g, ".row");
      const named = bare && words.every((w) => g.dataset.name.toLowerCase().includes(w));
      g.hidden = words.length > 0 && !named && !shows(g, ".row:not([hidden])");
      if (named && words.length && !g.closest(".xr").dataset.unpicked) found++;
    }
    for (const { element, card } of steps) {
      element.hidden = words.length > 0 && !shows(element, ".group:not([hidden])");
      card.classList.toggle("faint", element.hidden);
    }
    for (const s of sections) {
      s.hidden = Boolean(s.dataset.unpicked) || (words.length > 0 && !shows(s, "details.step:not([hidden])"));
    }
    if (words.length) {
      for (const d of folds) d.open = true;
    } else if (before) {
      folds.forEach((d, i) => { d.open = before[i]; });
      before = null;
    }
    nothing.hidden = !words.length || found > 0;
    count.textContent = words.length ? found + (found === 1 ? " match" : " matches") : "";
  }

  function pick() {
    for (const s of sections) {
      if (picked.value && s.id !== picked.value) s.dataset.unpicked = "true";
      else delete s.dataset.unpicked;
    }
    search();
  }

  // A link to a step or to an XR shows and unfolds its target.
  function follow() {
    const target = document.getElementById(location.hash.slice(1));
    if (!target) return;
    const section = target.closest(".xr");
    if (section && section.dataset.unpicked) {
      picked.value = section.id;
      pick();
    }
    if (target.tagName === "DETAILS") target.open = true;
    target.scrollIntoView();
  }

  if (sections.length > 1) {
    picked.add(new Option("All " + sections.length + " composite resources", ""));
    for (const s of sections) {
      const name = s.querySelector("h2 .name").textContent;
      picked.add(new Option(("failed" in s.dataset ? "✗ " : "") + name, s.id));
    }
    picked.closest("label").hidden = false;
  }

  let due = 0;
  input.addEventListener("input", () => { clearTimeout(due); due = setTimeout(search, 60); });
  picked.addEventListener("change", pick);
  tools.addEventListener("submit", (e) => { e.preventDefault(); search(); });
  for (const b of all("button[data-fold]")) {
    b.addEventListener("click", () => { for (const d of folds) d.open = Boolean(b.dataset.fold); });
  }
  document.addEventListener("keydown", (e) => {
    if (e.key === "/" && !/^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName)) {
      e.preventDefault();
      input.focus();
    } else if (e.key === "Escape" && document.activeElement === input) {
      input.value = "";
      search();
    }
  });
  for (const { element, card } of steps) {
    card.addEventListener("click", () => { element.open = true; });
  }
  let unprinted = null;
  addEventListener("beforeprint", () => { unprinted = folds.map((d) => d.open); for (const d of folds) d.open = true; });
  addEventListener("afterprint", () => { if (unprinted) folds.forEach((d, i) => { d.open = unprinted[i]; }); });
  addEventListener("hashchange", follow);

  tools.hidden = false;
  document.documentElement.classList.add("scripted");
  follow();
})();
