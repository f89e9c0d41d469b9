// A page of a service asks for itself again every few seconds, and shows what has changed.
(() => {
  "use strict";
  const SECONDS = 5;
  const renew = async () => {
    try {
      if (document.hidden) return;
      const answer = await fetch(location.href, { cache: "no-store" });
      if (!answer.ok) throw new Error(answer.status);
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      for (const part of ["main", "header .lead"]) {
        const [old, now] = [document.querySelector(part), fresh.querySelector(part)];
        if (old && now && old.innerHTML !== now.innerHTML) old.replaceWith(document.adoptNode(now));
      }
      document.documentElement.classList.remove("stale");
      document.dispatchEvent(new Event("aioli:changed"));
    } catch {
      document.documentElement.classList.add("stale"); // the service does not answer: what is shown is old
    }
  };
  addEventListener("aioli:renew", renew);
  setInterval(renew, SECONDS * 1000);
})();
