// Fills hidden fields marked data-time-zone with the browser's own zone; without it the account starts in UTC.
for (const field of document.querySelectorAll("[data-time-zone]")) {
  if (!field.value) field.value = Intl.DateTimeFormat().resolvedOptions().timeZone || "";
}
