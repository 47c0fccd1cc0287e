#include "error_cases.hpp"

#include "accesses.hpp"
#include "chapter.hpp"
#include "error_case_parts.hpp"

namespace chapter {
namespace {

int open(const char* name, int amode) {
  MPI_File file = MPI_FILE_NULL;
  const int code =
      MPI_File_open(MPI_COMM_WORLD, path_of(name).c_str(), amode, MPI_INFO_NULL, &file);
  if (file != MPI_FILE_NULL) MPI_File_close(&file);
  return code;
}

Codes view_of(int amode, MPI_Offset displacement, MPI_Datatype etype, MPI_Datatype filetype,
              const char* name = "native") {
  return one("set_view", with_file(amode, [&](MPI_File file) {
               return view(file, displacement, etype, filetype, name);
             }));
}

Codes view_of_places(int amode, const std::vector<int>& places) {
  const Type filetype(made_of(places));
  return view_of(amode, 0, MPI_INT, filetype);
}

/// The calls that are wrong because of the file handle alone.
Codes all_calls(MPI_File file) {
  MPI_Offset offset = 0;
  MPI_Aint extent = 0;
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Info info = MPI_INFO_NULL;
  MPI_Datatype etype = MPI_DATATYPE_NULL, filetype = MPI_DATATYPE_NULL;
  char name[MPI_MAX_DATAREP_STRING + 1] = "";
  int flag = 0;
  MPI_File handle = file;
  Codes codes{{"close", MPI_File_close(&handle)},
              {"set_size", MPI_File_set_size(file, 4)},
              {"preallocate", MPI_File_preallocate(file, 4)},
              {"get_size", MPI_File_get_size(file, &offset)},
              {"get_group", MPI_File_get_group(file, &group)},
              {"get_amode", MPI_File_get_amode(file, &flag)},
              {"set_info", MPI_File_set_info(file, MPI_INFO_NULL)},
              {"get_info", MPI_File_get_info(file, &info)},
              {"set_view", view(file, 0, MPI_INT, MPI_INT)},
              {"get_view", MPI_File_get_view(file, &offset, &etype, &filetype, name)},
              {"seek", MPI_File_seek(file, 0, MPI_SEEK_SET)},
              {"get_position", MPI_File_get_position(file, &offset)},
              {"get_byte_offset", MPI_File_get_byte_offset(file, 0, &offset)},
              {"seek_shared", MPI_File_seek_shared(file, 0, MPI_SEEK_SET)},
              {"get_position_shared", MPI_File_get_position_shared(file, &offset)},
              {"get_type_extent", MPI_File_get_type_extent(file, MPI_INT, &extent)},
              {"set_atomicity", MPI_File_set_atomicity(file, 0)},
              {"get_atomicity", MPI_File_get_atomicity(file, &flag)},
              {"sync", MPI_File_sync(file)}};
  int number = 0;
  for (const Access& access : accesses())
    codes.push_back({access.name, access.call(file, &number, {})});
  return codes;
}

Codes sizes(int amode, MPI_Offset bytes) {
  return with_file(amode, [&](MPI_File file) {
    return Codes{{"set_size", MPI_File_set_size(file, bytes)},
                 {"preallocate", MPI_File_preallocate(file, bytes)}};
  });
}

void do_nothing(MPI_Comm*, int*, ...) {}

/// For a representation; never called.
int extent_of(MPI_Datatype, MPI_Aint*, void*) {
  return MPI_SUCCESS;
}

int add_representation(const char* name) {
  return MPI_Register_datarep(name, MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL, &extent_of,
                              nullptr);
}

const std::vector<ErrorCase> of_files{
    {"open: the communicator is null",
     [] {
       MPI_File file = MPI_FILE_NULL;
       return one("open",
                  MPI_File_open(MPI_COMM_NULL, path_of("x").c_str(), update, MPI_INFO_NULL, &file));
     }},
    {"open: there is no such file", [] { return one("open", open("missing", MPI_MODE_RDWR)); }},
    {"open: there is no such folder", [] { return one("open", open("no/folder", update)); }},
    {"open: a folder",
     [] {
       if (rank() == 0) ::mkdir(path_of("folder").c_str(), 0700);
       barrier();
       return one("open", open("folder", update));
     }},
    {"open: a file in place of a folder",
     [] {
       make_file(path_of("plain"), std::vector<int>{1});
       return one("open", open("plain/file", update));
     }},
    {"open: the name is too long",
     [] { return one("open", open(std::string(300, 'x').c_str(), update)); }},
    {"open: MPI_MODE_EXCL, and the file is there",
     [] {
       make_file(path_of("there"), std::vector<int>{1});
       return one("open", open("there", update | MPI_MODE_EXCL));
     }},
    {"open: amode 0", [] { return one("open", open("modes", 0)); }},
    {"open: amode MPI_MODE_CREATE", [] { return one("open", open("modes", MPI_MODE_CREATE)); }},
    {"open: amode MPI_MODE_RDONLY and MPI_MODE_RDWR",
     [] { return one("open", open("modes", MPI_MODE_RDONLY | MPI_MODE_RDWR)); }},
    {"open: amode MPI_MODE_RDONLY and MPI_MODE_WRONLY",
     [] { return one("open", open("modes", MPI_MODE_RDONLY | MPI_MODE_WRONLY)); }},
    {"open: amode MPI_MODE_RDONLY and MPI_MODE_CREATE",
     [] { return one("open", open("modes", MPI_MODE_RDONLY | MPI_MODE_CREATE)); }},
    {"open: amode MPI_MODE_RDONLY and MPI_MODE_EXCL",
     [] { return one("open", open("modes", MPI_MODE_RDONLY | MPI_MODE_EXCL)); }},
    {"open: amode MPI_MODE_RDWR and MPI_MODE_SEQUENTIAL",
     [] { return one("open", open("modes", update | MPI_MODE_SEQUENTIAL)); }},
    {"open: amode with a bit that no mode has",
     [] { return one("open", open("modes", update | 1 << 28)); }},
    {"open: ranks pass different amodes",
     [] {
       return one("open", open("differ", rank() == 0 ? update : update | MPI_MODE_UNIQUE_OPEN));
     }},
    {"delete: there is no such file",
     [] { return one("delete", MPI_File_delete(path_of("missing").c_str(), MPI_INFO_NULL)); }},
    {"delete: a folder",
     [] {
       if (rank() == 0) ::mkdir(path_of("folder").c_str(), 0700);
       barrier();
       return one("delete", MPI_File_delete(path_of("folder").c_str(), MPI_INFO_NULL));
     }},
    {"any: the file is MPI_FILE_NULL", [] { return all_calls(MPI_FILE_NULL); }},
    {"any: the file was closed",
     [] {
       MPI_File file = MPI_FILE_NULL;
       MPI_File_open(MPI_COMM_WORLD, path_of("closed").c_str(), update, MPI_INFO_NULL, &file);
       const MPI_File before = file;
       MPI_File_close(&file);
       return all_calls(before);
     }},
    {"set_size, preallocate: negative", [] { return sizes(update, -1); }},
    {"set_size, preallocate: a file that is only read", [] { return sizes(MPI_MODE_RDONLY, 4); }},
    {"set_size, preallocate: a sequential file",
     [] { return sizes(MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL, 4); }},
    {"set_info: MPI_INFO_NULL",
     [] {
       return one("set_info", with_file(update, [](MPI_File file) {
                    return MPI_File_set_info(file, MPI_INFO_NULL);
                  }));
     }},
    {"sync: a file that is only read",
     [] { return one("sync", with_file(MPI_MODE_RDONLY, &MPI_File_sync)); }},
    {"register_datarep: native", [] { return one("register", add_representation("native")); }},
    {"register_datarep: the same name again",
     [] {
       add_representation("twice");
       return one("register", add_representation("twice"));
     }},
    {"register_datarep: the name is too long",
     [] {
       return one("register",
                  add_representation(std::string(MPI_MAX_DATAREP_STRING + 10, 'x').c_str()));
     }},
    {"set_errhandler: MPI_ERRHANDLER_NULL",
     [] {
       return one("set_errhandler", with_file(update, [](MPI_File file) {
                    return MPI_File_set_errhandler(file, MPI_ERRHANDLER_NULL);
                  }));
     }},
    {"set_errhandler: one of communicators",
     [] {
       MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
       MPI_Comm_create_errhandler(&do_nothing, &handler);
       const int code =
           with_file(update, [&](MPI_File file) { return MPI_File_set_errhandler(file, handler); });
       MPI_Errhandler_free(&handler);
       return one("set_errhandler", code);
     }},
    {"set_atomicity: ranks pass different flags",
     [] {
       return one("set_atomicity", with_file(update, [](MPI_File file) {
                    return MPI_File_set_atomicity(file, rank() == 0);
                  }));
     }},
    {"set_size: ranks pass different sizes",
     [] {
       return one("set_size", with_file(update, [](MPI_File file) {
                    return MPI_File_set_size(file, 10 + rank());
                  }));
     }},
};

const std::vector<ErrorCase> of_views{
    {"set_view: the displacement is negative",
     [] { return view_of(update, -4, MPI_INT, MPI_INT); }},
    {"set_view: MPI_DISPLACEMENT_CURRENT, and the file is not sequential",
     [] { return view_of(update, MPI_DISPLACEMENT_CURRENT, MPI_INT, MPI_INT); }},
    {"set_view: etype is null", [] { return view_of(update, 0, MPI_DATATYPE_NULL, MPI_INT); }},
    {"set_view: filetype is null", [] { return view_of(update, 0, MPI_INT, MPI_DATATYPE_NULL); }},
    {"set_view: filetype is not committed",
     [] {
       MPI_Datatype made = made_of({0, 2});
       const Codes codes = view_of(update, 0, MPI_INT, made);
       MPI_Type_free(&made);
       return codes;
     }},
    {"set_view: filetype is not made of whole etypes",
     [] { return view_of(update, 0, MPI_DOUBLE, MPI_INT); }},
    {"set_view: etype has no bytes",
     [] {
       MPI_Datatype made = MPI_DATATYPE_NULL;
       MPI_Type_contiguous(0, MPI_INT, &made);
       const Type empty(made);
       return view_of(update, 0, empty, empty);
     }},
    {"set_view: displacements of filetype descend",
     [] {
       return view_of_places(update, {3, 0});
     }},
    {"set_view: a displacement of filetype is negative",
     [] {
       return view_of_places(update, {-2, 0});
     }},
    {"set_view: filetype overlaps, in a file that is written",
     [] {
       return view_of_places(update, {0, 0});
     }},
    {"set_view: filetype overlaps, in a file that is only read",
     [] {
       return view_of_places(MPI_MODE_RDONLY, {0, 0});
     }},
    {"set_view: the representation is unknown",
     [] { return view_of(update, 0, MPI_INT, MPI_INT, "papyrus"); }},
    {"set_view: the representation internal",
     [] { return view_of(update, 0, MPI_INT, MPI_INT, "internal"); }},
    {"set_view: the representation external32",
     [] { return view_of(update, 0, MPI_INT, MPI_INT, "external32"); }},
    {"set_view: ranks pass different representations",
     [] { return view_of(update, 0, MPI_INT, MPI_INT, rank() == 0 ? "native" : "external32"); }},
    {"set_view: ranks pass etypes of different extents",
     [] {
       const MPI_Datatype type = rank() == 0 ? MPI_INT : MPI_DOUBLE;
       return view_of(update, 0, type, type);
     }},
    {"set_view: a non-blocking write is under way",
     [] {
       return one("set_view", with_file(update, [](MPI_File file) {
                    const int number = 1;
                    MPI_Request request = MPI_REQUEST_NULL;
                    MPI_File_iwrite_at(file, rank() * 4, &number, 1, MPI_INT, &request);
                    const int code = view(file, 0, MPI_INT, MPI_INT);
                    MPI_Wait(&request, MPI_STATUS_IGNORE);
                    return code;
                  }));
     }},
    {"set_view: a split write is under way",
     [] {
       return within_split([](MPI_File file, const int*) {
         return one("set_view", view(file, 0, MPI_INT, MPI_INT));
       });
     }},
    {"get_byte_offset: negative",
     [] {
       return one("get_byte_offset", with_file(update, [](MPI_File file) {
                    MPI_Offset place = 0;
                    return MPI_File_get_byte_offset(file, -1, &place);
                  }));
     }},
    {"get_type_extent: the datatype is null",
     [] {
       return one("get_type_extent", with_file(update, [](MPI_File file) {
                    MPI_Aint extent = 0;
                    return MPI_File_get_type_extent(file, MPI_DATATYPE_NULL, &extent);
                  }));
     }},
};

}  // namespace

const std::vector<ErrorCase>& error_cases() {
  static const std::vector<ErrorCase> all = [] {
    std::vector<ErrorCase> joined = of_files;
    joined.insert(joined.end(), of_views.begin(), of_views.end());
    joined.insert(joined.end(), cases_of_accesses().begin(), cases_of_accesses().end());
    return joined;
  }();
  return all;
}

}  // namespace chapter
