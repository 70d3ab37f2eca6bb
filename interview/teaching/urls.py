"""Addresses of the teaching room."""

from __future__ import annotations

from django.urls import path

from interview.teaching.views import assignments, classes, join, people, sets, work

app_name = "teaching"
CLASS = "classes/<uuid:class_id>/"
SET = "sets/<uuid:set_id>/"
ASSIGNMENT = f"{CLASS}assignments/<uuid:assignment_id>/"
WORK = "work/<uuid:submission_id>/"
urlpatterns = [
    path("classes/", classes.class_list, name="class_list"),
    path("classes/new/", classes.class_create, name="class_create"),
    path(CLASS, classes.class_page, name="class_page"),
    path(f"{CLASS}settings/", classes.class_edit, name="class_edit"),
    path(f"{CLASS}archive/", classes.class_archive, name="class_archive"),
    path(f"{CLASS}delete/", classes.class_delete, name="class_delete"),
    path(f"{CLASS}leave/", people.class_leave, name="class_leave"),
    path(f"{CLASS}people/", people.people, name="people"),
    path(f"{CLASS}people/roster/", people.roster_import, name="roster_import"),
    path(f"{CLASS}people/<int:member_id>/", people.member_edit, name="member_edit"),
    path(f"{CLASS}people/<int:member_id>/remove/", people.member_remove, name="member_remove"),
    path(f"{CLASS}people/<int:member_id>/restore/", people.member_restore, name="member_restore"),
    path(f"{CLASS}people/<int:member_id>/owner/", people.owner_change, name="owner_change"),
    path(f"{CLASS}invitations/<int:entry_id>/send/", people.invitation_send, name="invitation_send"),
    path(f"{CLASS}invitations/<int:entry_id>/remove/", people.invitation_remove, name="invitation_remove"),
    path(f"{CLASS}links/", people.link_create, name="link_create"),
    path(f"{CLASS}links/<int:link_id>/revoke/", people.link_revoke, name="link_revoke"),
    path(f"{CLASS}assignments/new/", assignments.assignment_create, name="assignment_create"),
    path(ASSIGNMENT, classes.assignment, name="assignment"),
    path(f"{ASSIGNMENT}edit/", assignments.assignment_edit, name="assignment_edit"),
    path(f"{ASSIGNMENT}delete/", assignments.assignment_delete, name="assignment_delete"),
    path(f"{ASSIGNMENT}extensions/", assignments.extension_give, name="extension_give"),
    path(
        f"{ASSIGNMENT}extensions/<int:extension_id>/remove/",
        assignments.extension_take_back,
        name="extension_take_back",
    ),
    path(f"{ASSIGNMENT}attachments/", assignments.attachment_add, name="attachment_add"),
    path(
        f"{ASSIGNMENT}attachments/<int:attachment_id>/", assignments.attachment_open, name="attachment_open"
    ),
    path(
        f"{ASSIGNMENT}attachments/<int:attachment_id>/remove/",
        assignments.attachment_remove,
        name="attachment_remove",
    ),
    path(f"{ASSIGNMENT}preview/<int:number>/", assignments.preview, name="preview"),
    path(f"{ASSIGNMENT}start/", work.attempt_start, name="attempt_start"),
    path(f"{WORK}<int:number>/", work.work, name="work"),
    path(f"{WORK}<int:number>/save/", work.work_save, name="work_save"),
    path(f"{WORK}<int:number>/draft/", work.answer_draft, name="answer_draft"),
    path(f"{WORK}hand-in/", work.hand_in, name="hand_in"),
    path(f"{WORK}hand-in/confirm/", work.hand_in_confirm, name="hand_in_confirm"),
    path(f"{WORK}receipt/", work.receipt, name="receipt"),
    path(f"{WORK}result/", work.result, name="result"),
    path(f"{WORK}attachments/<int:attachment_id>/", work.work_attachment, name="work_attachment"),
    path("join/", join.join_code, name="join_code"),
    path("join/invited/<str:token>/", join.join_invited, name="join_invited"),
    path("join/<str:code>/", join.join, name="join"),
    path("sets/", sets.set_list, name="set_list"),
    path("sets/new/", sets.set_create, name="set_create"),
    path("sets/import/", sets.set_import, name="set_import"),
    path("sets/gallery/", sets.gallery, name="gallery"),
    path("sets/shared/<str:code>/", sets.set_shared, name="set_shared"),
    path(SET, sets.set_page, name="set_page"),
    path(f"{SET}edit/", sets.set_update, name="set_update"),
    path(f"{SET}add/", sets.items_add, name="items_add"),
    path(f"{SET}items/", sets.items_update, name="items_update"),
    path(f"{SET}items/<slug:question_id>/remove/", sets.item_remove, name="item_remove"),
    path(f"{SET}duplicate/", sets.set_duplicate, name="set_duplicate"),
    path(f"{SET}share/", sets.set_share, name="set_share"),
    path(f"{SET}publish/", sets.set_publish, name="set_publish"),
    path(f"{SET}delete/", sets.set_delete, name="set_delete"),
    path(f"{SET}export/", sets.set_export, name="set_export"),
]
